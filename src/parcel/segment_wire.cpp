// SPDX-License-Identifier: Apache-2.0
#include "parcel/segment_wire.hpp"

#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/shallow_json.hpp"
#include "base/text/hex.hpp"
#include "base/try.hpp"
#include "parcel/segment_json.hpp"

namespace aqua::segment_wire {
namespace {

using Json = nlohmann::json;
using keeper_wire::kMostCount;

Json to_json(const Join& /*asked*/) {
  return {{"op", "segment-join"}};
}
Json to_json(const Watch& /*asked*/) {
  return {{"op", "segment-watch"}};
}
Json to_json(const Reserve& asked) {
  return {{"op", "segment-reserve"}, {"bytes", asked.bytes}};
}
Json to_json(const Commit& asked) {
  Json json{{"op", "segment-commit"},
            {"number", asked.number},
            {"bytes", asked.bytes},
            {"digest", to_hex(asked.digest)},
            {"parcel", asked.parcel}};
  if (asked.copy_of) json["copy_of"] = json_of(*asked.copy_of);
  return json;
}
Json to_json(const Open& asked) {
  return {{"op", "segment-open"}, {"number", asked.number}, {"generation", asked.generation}};
}
Json to_json(const Close& asked) {
  Json json{{"op", "segment-close"}, {"number", asked.number}};
  if (asked.adopt) json["adopt"] = true;
  return json;
}
Json to_json(const Drop& asked) {
  Json json{{"op", "segment-drop"}, {"number", asked.number}, {"generation", asked.generation}};
  if (asked.as_copy) json["as_copy"] = true;
  return json;
}
Json to_json(const GiveUp& asked) {
  return {{"op", "segment-give-up"}, {"number", asked.number}};
}
Json to_json(const Returned& /*asked*/) {
  return {{"op", "segment-returned"}};
}
Json to_json(const Leave& /*asked*/) {
  return {{"op", "segment-leave"}};
}
Json to_json(const List& asked) {
  return {{"op", "segment-list"}, {"first", asked.first}};
}
Json to_json(const Disk& /*asked*/) {
  return {{"op", "segment-disk"}};
}
Json to_json(const SegmentStatus& row) {
  Json json = json_of(row.name);
  json["capacity"] = row.capacity;
  json["parcel"] = row.parcel;
  json["writer"] = row.has_writer;
  json["readers"] = row.readers;
  if (row.on_disk) json["on_disk"] = true;
  if (row.copy_of) json["copy_of"] = json_of(*row.copy_of);
  return json;
}
Json to_json(const Reply& reply) {
  Json json = json_of(reply.name);
  Json rows = Json::array();
  for (const SegmentStatus& row : reply.rows) rows.push_back(to_json(row));
  json["capacity"] = reply.capacity;
  json["numbers"] = reply.numbers;
  json["rows"] = rows;
  json["more"] = reply.more;
  if (reply.disk) json["disk"] = json_of(*reply.disk);
  return json;
}

Commit read_commit(JsonObject& object) {
  Commit asked{.number = keeper_wire::read_number(object, "number")};
  asked.bytes = read_size(object, "bytes");
  asked.digest = read_digest(object);
  asked.parcel = keeper_wire::read_number(object, "parcel");
  asked.copy_of = read_origin(object);
  if (asked.copy_of && asked.parcel != 0) object.fail("a copy goes with no parcel");
  return asked;
}

template <typename Asked>
Asked read_named(JsonObject& object) {
  Asked asked{.number = keeper_wire::read_number(object, "number")};
  asked.generation = keeper_wire::read_number(object, "generation");
  return asked;
}

Close read_close(JsonObject& object) {
  Close asked{.number = keeper_wire::read_number(object, "number")};
  asked.adopt = object.flag_or("adopt", false);
  return asked;
}
Drop read_drop(JsonObject& object) {
  Drop asked = read_named<Drop>(object);
  asked.as_copy = object.flag_or("as_copy", false);
  return asked;
}

std::optional<Request> read_request(JsonObject& object, std::string_view operation) {
  if (operation == "join") return Join{};
  if (operation == "watch") return Watch{};
  if (operation == "reserve") return Reserve{.bytes = read_size(object, "bytes")};
  if (operation == "commit") return read_commit(object);
  if (operation == "open") return read_named<Open>(object);
  if (operation == "close") return read_close(object);
  if (operation == "drop") return read_drop(object);
  if (operation == "give-up") return GiveUp{.number = keeper_wire::read_number(object, "number")};
  if (operation == "returned") return Returned{};
  if (operation == "leave") return Leave{};
  if (operation == "disk") return Disk{};
  if (operation == "list") return List{.first = keeper_wire::read_number(object, "first")};
  return std::nullopt;
}

std::vector<std::uint64_t> read_numbers(JsonObject& object) {
  std::vector<std::uint64_t> numbers;
  const Json* const list = object.take("numbers");
  bool good = list != nullptr && list->is_array() && list->size() <= kMostNumbers;
  for (std::size_t i = 0; good && i < list->size(); ++i) {
    good = (*list)[i].is_number_unsigned();
    if (good) numbers.push_back((*list)[i].get<std::uint64_t>());
  }
  if (!good) object.fail(concat("numbers is not a list of at most ", kMostNumbers));
  return numbers;
}

Result<SegmentStatus> read_row(const Json& json) {
  JsonObject object(json, "keeper: rows");
  SegmentStatus row{.name = read_name(object)};
  row.capacity = read_size(object, "capacity");
  row.parcel = keeper_wire::read_number(object, "parcel");
  row.has_writer = object.flag_or("writer", false);
  row.readers = object.count("readers", 0, kMostCount);
  row.on_disk = object.flag_or("on_disk", false);
  row.copy_of = read_origin(object);
  AQUA_TRY(object.finish());
  return row;
}

}  // namespace

std::string encode(const Request& request) {
  return keeper_wire::dump(std::visit([](const auto& asked) { return to_json(asked); }, request));
}

std::string encode(const Result<Reply>& reply) {
  return reply.ok() ? keeper_wire::dump(to_json(*reply))
                    : keeper_wire::encode_refusal(reply.error());
}

Result<std::optional<Request>> decode_request(std::string_view packet) {
  constexpr std::string_view kSegment = "segment-";
  const Json json = parse_shallow(packet, keeper_wire::kDeepest);
  JsonObject object(json, "keeper");
  const std::string operation = object.text("op");
  if (!operation.starts_with(kSegment)) return std::optional<Request>();
  auto request = read_request(object, std::string_view(operation).substr(kSegment.size()));
  if (!request) object.fail(concat("no operation '", operation.substr(0, 40), "'"));
  AQUA_TRY(object.finish());
  return request;
}

Result<Reply> decode_reply(std::string_view packet) {
  const Json json = parse_shallow(packet, keeper_wire::kDeepest);
  if (auto refused = keeper_wire::read_refusal(json)) return std::move(*refused);
  JsonObject object(json, "keeper");
  Reply reply{.name = read_name(object)};
  reply.capacity = read_size(object, "capacity");
  reply.numbers = read_numbers(object);
  reply.more = object.flag_or("more", false);
  const Json* const rows = object.take("rows");
  if (rows != nullptr && (!rows->is_array() || rows->size() > kMostRows)) {
    object.fail(concat("rows is not a list of at most ", kMostRows));
  }
  const Json* const disk = object.has("disk") ? object.take("disk") : nullptr;
  AQUA_TRY(object.finish());
  if (disk != nullptr) {
    AQUA_ASSIGN(reply.disk, read_disk(*disk));
  }
  for (const Json& row : *rows) {
    AQUA_ASSIGN(SegmentStatus read, read_row(row));
    reply.rows.push_back(read);
  }
  return reply;
}

}  // namespace aqua::segment_wire
