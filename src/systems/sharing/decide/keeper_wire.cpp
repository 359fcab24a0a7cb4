// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/keeper_wire.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"
#include "systems/sharing/decide/plain_name.hpp"

namespace aqua::sharing::wire {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 4;
constexpr double kMostCopies = 1e15;  // doubles count further than that
constexpr std::uint32_t kMostCount = std::numeric_limits<std::uint32_t>::max();

Json to_json(const ShardName& shard) {
  return {{"model", shard.model},
          {"version", shard.version},
          {"shard", shard.shard},
          {"shards", shard.shards}};
}
Json with(Json json, const char* operation) {
  json["op"] = operation;
  return json;
}

Json to_json(const Publish& asked) {
  Json json = with(to_json(asked.shard), "publish");
  json["device"] = to_string(asked.device);
  return json;
}
Json to_json(const Add& asked) {
  return {{"op", "add"}, {"copy", asked.copy}, {"bytes", asked.bytes}};
}
Json to_json(const Commit& asked) {
  return {{"op", "commit"}, {"copy", asked.copy}};
}
Json to_json(const Attach& asked) {
  Json json = with(to_json(asked.shard), "attach");
  json["device"] = to_string(asked.device);
  return json;
}
Json to_json(const Fetch& asked) {
  return {{"op", "fetch"}, {"copy", asked.copy}, {"first", asked.first}};
}
Json to_json(const Detach& asked) {
  return {{"op", "detach"}, {"copy", asked.copy}};
}
Json to_json(const ListModels& asked) {
  return {{"op", "models"}, {"first", asked.first}};
}
Json to_json(const Retire& asked) {
  return {{"op", "retire"}, {"model", asked.model}, {"version", asked.version}};
}
Json to_json(const ModelStatus& row) {
  return {{"model", row.model},   {"version", row.version}, {"shards", row.shards},
          {"copies", row.copies}, {"filling", row.filling}, {"readers", row.readers},
          {"bytes", row.bytes},   {"shows", row.shows},     {"superseded", row.superseded}};
}
Json to_json(const Reply& reply) {
  Json models = Json::array();
  for (const ModelStatus& row : reply.models) models.push_back(to_json(row));
  return {{"copy", reply.copy},         {"version", reply.version}, {"slabs", reply.slabs},
          {"enforced", reply.enforced}, {"bytes", reply.bytes},     {"models", models},
          {"more", reply.more}};
}

// Names come from others' packets and errors: what is no UTF-8 becomes U+FFFD.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

CopyId read_copy(JsonObject& object) {
  return static_cast<CopyId>(object.number("copy", 0, kMostCopies));
}

std::uint64_t read_bytes(JsonObject& object, const Json& value) {
  const bool whole = value.is_number_unsigned();
  if (!whole || value.get<std::uint64_t>() > kMostManifestBytes) object.fail("bytes are no size");
  return whole ? value.get<std::uint64_t>() : 0;
}

std::vector<std::uint64_t> read_sizes(JsonObject& object) {
  std::vector<std::uint64_t> sizes;
  const Json* list = object.take("bytes");
  if (list == nullptr) return sizes;
  if (!list->is_array() || list->size() > kMaxDescriptors) {
    object.fail(concat("bytes is not a list of at most ", kMaxDescriptors));
    return sizes;
  }
  for (const Json& size : *list) sizes.push_back(read_bytes(object, size));
  return sizes;
}

ShardName read_shard(JsonObject& object) {
  ShardName shard{.model = object.text("model"), .version = object.text("version")};
  shard.shard = object.count("shard", 0, kMostShards - 1);
  shard.shards = object.count("shards", 1, kMostShards);
  if (shard.model.empty()) object.fail("model is empty");
  if (shard.model.size() > kLongestModel || shard.version.size() > kLongestModel) {
    object.fail(concat("model or version is longer than ", kLongestModel, " bytes"));
  }
  if (!is_plain(shard.model) || !is_plain(shard.version)) {
    object.fail("model or version has characters that are not printable ASCII");
  }
  if (shard.shard >= shard.shards) object.fail("shard is not below shards");
  return shard;
}

DeviceUuid read_device(JsonObject& object) {
  const auto device = parse_id<DeviceTag>(object.text("device"));
  if (device.ok()) return *device;
  object.fail("device is not of 32 hexadecimal digits");
  return {};
}

std::optional<Request> read_request(JsonObject& object, const std::string& operation) {
  if (operation == "publish") {
    Publish asked{.shard = read_shard(object), .device = read_device(object)};
    if (asked.shard.version.empty()) object.fail("version is empty");
    return asked;
  }
  if (operation == "add") return Add{.copy = read_copy(object), .bytes = read_sizes(object)};
  if (operation == "commit") return Commit{.copy = read_copy(object)};
  if (operation == "attach") {
    return Attach{.shard = read_shard(object), .device = read_device(object)};
  }
  if (operation == "fetch") {
    return Fetch{.copy = read_copy(object), .first = object.count("first", 0, kMostManifestSlabs)};
  }
  if (operation == "detach") return Detach{.copy = read_copy(object)};
  if (operation == "models") return ListModels{.first = object.count("first", 0, kMostCount)};
  if (operation == "retire") {
    return Retire{.model = object.text("model"), .version = object.text("version")};
  }
  return std::nullopt;
}

Result<ModelStatus> read_row(const Json& json) {
  JsonObject object(json, "keeper: models");
  ModelStatus row{.model = object.text("model"), .version = object.text("version")};
  row.shards = object.count("shards", 1, kMostShards);
  row.copies = object.count("copies", 0, kMostCount);
  row.filling = object.count("filling", 0, kMostCount);
  row.readers = object.count("readers", 0, kMostCount);
  if (const Json* bytes = object.take("bytes")) row.bytes = read_bytes(object, *bytes);
  row.shows = object.flag_or("shows", false);
  row.superseded = object.flag_or("superseded", false);
  AQUA_TRY(object.finish());
  return row;
}

// internal for a name that this side does not know.
Code code_named(std::string_view name) {
  for (std::uint8_t number = 0; number <= static_cast<std::uint8_t>(Code::internal); ++number) {
    if (to_string(static_cast<Code>(number)) == name) return static_cast<Code>(number);
  }
  return Code::internal;
}

}  // namespace

std::string encode(const Request& request) {
  return dump(std::visit([](const auto& asked) { return to_json(asked); }, request));
}

std::string encode(const Result<Reply>& reply) {
  if (reply.ok()) return dump(to_json(*reply));
  return dump({{"error", to_string(reply.error().code)}, {"message", reply.error().message}});
}

Result<Request> decode_request(std::string_view packet) {
  const Json json = parse_shallow(packet, kDeepest);
  JsonObject object(json, "keeper");
  const std::string operation = object.text("op");
  const auto request = read_request(object, operation);
  if (!request) object.fail(concat("no operation '", operation.substr(0, 40), "'"));
  AQUA_TRY(object.finish());
  return *request;
}

Result<Reply> decode_reply(std::string_view packet) {
  const Json json = parse_shallow(packet, kDeepest);
  JsonObject object(json, "keeper");
  if (object.has("error")) {
    const std::string code = object.text("error");
    const std::string message = object.text("message");
    AQUA_TRY(object.finish());
    return Error{code_named(code), message};
  }
  Reply reply{.copy = read_copy(object), .version = object.text("version")};
  reply.slabs = object.count("slabs", 0, kMostManifestSlabs);
  reply.enforced = object.flag_or("enforced", false);
  reply.bytes = read_sizes(object);
  reply.more = object.flag_or("more", false);
  const Json* models = object.take("models");
  if (models != nullptr && !models->is_array()) object.fail("models is not a list");
  AQUA_TRY(object.finish());
  for (const Json& row : *models) {
    AQUA_ASSIGN(ModelStatus read, read_row(row));
    reply.models.push_back(std::move(read));
  }
  return reply;
}

}  // namespace aqua::sharing::wire
