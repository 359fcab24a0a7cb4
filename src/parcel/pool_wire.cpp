// SPDX-License-Identifier: Apache-2.0
#include "parcel/pool_wire.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/keeper/limits.hpp"
#include "base/shallow_json.hpp"
#include "base/text/hex.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"

namespace aqua::pool_wire {
namespace {

using Json = nlohmann::json;

// Blocks that follow each other are one run: its first, and how many.
template <typename Take>
void for_each_run(const Blocks& blocks, const Take& take) {
  for (std::size_t i = 0; i < blocks.size();) {
    std::size_t end = i + 1;
    while (end < blocks.size() && blocks[end] == blocks[end - 1] + 1) ++end;
    take(blocks[i], end - i);
    i = end;
  }
}

constexpr std::size_t digits(std::size_t number) {
  std::size_t count = 1;
  for (; number >= 10; number /= 10) ++count;
  return count;
}

Json to_json(const Blocks& blocks) {
  Json runs = Json::array();
  for_each_run(blocks, [&](std::uint32_t first, std::size_t count) {
    runs.push_back(first);
    runs.push_back(count);
  });
  return runs;
}

Blocks read_blocks(JsonObject& object) {
  Blocks blocks;
  const Json* runs = object.take("blocks");
  if (runs == nullptr) return blocks;
  bool good = runs->is_array() && runs->size() % 2 == 0;
  for (std::size_t i = 0; good && i < runs->size(); i += 2) {
    const Json& first = (*runs)[i];
    const Json& count = (*runs)[i + 1];
    good = first.is_number_unsigned() && count.is_number_unsigned() &&
           first.get<std::uint64_t>() < kMostPoolBlocks &&
           count.get<std::uint64_t>() <= kMostPoolBlocks - first.get<std::uint64_t>() &&
           count.get<std::uint64_t>() <= kMostPoolBlocks - blocks.size();
    for (std::uint64_t k = 0; good && k < count.get<std::uint64_t>(); ++k) {
      blocks.push_back(static_cast<std::uint32_t>(first.get<std::uint64_t>() + k));
    }
  }
  if (!good) object.fail("blocks is not a list of runs of blocks");
  return blocks;
}

std::string read_note(JsonObject& object) {
  const std::string text = object.text("note");
  std::string note;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) break;
    note += static_cast<char>(high * 16 + low);
  }
  if (note.size() * 2 != text.size()) object.fail("note is not of hexadecimal digits");
  return note;
}

std::string hex_of(std::string_view bytes) {
  return to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

Json to_json(const Parcel& parcel) {
  return {{"number", parcel.number},     {"id", parcel.id},
          {"turn", parcel.turn},         {"tokens", parcel.tokens},
          {"note", hex_of(parcel.note)}, {"blocks", to_json(parcel.blocks)}};
}

Parcel read_parcel(JsonObject& object) {
  Parcel parcel{.number = read_number(object, "number"), .id = object.text("id")};
  parcel.turn = read_number(object, "turn");
  parcel.tokens = object.count("tokens", 0, kMostCount);
  parcel.note = read_note(object);
  parcel.blocks = read_blocks(object);
  return parcel;
}

Json to_json(const JoinPool& asked) {
  return {{"op", "pool-join"},    {"pool", asked.pool},
          {"role", asked.role},   {"device", to_string(asked.device)},
          {"shape", asked.shape}, {"blocks", asked.blocks},
          {"bytes", asked.bytes}};
}
Json to_json(const AddSlabs& asked) {
  return {{"op", "pool-add"}, {"bytes", asked.bytes}};
}
Json to_json(const FetchSlabs& asked) {
  return {{"op", "pool-fetch"}, {"first", asked.first}};
}
Json to_json(const Grant& asked) {
  return {{"op", "pool-grant"}, {"most", asked.most}};
}
Json to_json(const GiveBack& asked) {
  return {{"op", "pool-give-back"}, {"blocks", to_json(asked.blocks)}};
}
Json to_json(const Share& asked) {
  return {{"op", "pool-share"}, {"blocks", to_json(asked.blocks)}};
}
Json to_json(const Offer& asked) {
  Json json = to_json(asked.parcel);
  json["op"] = "pool-offer";
  json["role"] = asked.role;
  return json;
}
Json to_json(const Accept& asked) {
  return {{"op", "pool-accept"}, {"most", asked.most}};
}
Json to_json(const Finish& asked) {
  return {{"op", "pool-finish"}, {"number", asked.number}};
}
Json to_json(const Cancel& asked) {
  return {{"op", "pool-cancel"}, {"pool", asked.pool}, {"id", asked.id}};
}
Json to_json(const Leave& /*asked*/) {
  return {{"op", "pool-leave"}};
}
Json to_json(const ListPools& asked) {
  return {{"op", "pool-list"}, {"first", asked.first}};
}
Json to_json(const RemovePool& asked) {
  return {{"op", "pool-remove"}, {"pool", asked.pool}};
}
Json to_json(const PoolStatus& row) {
  return {{"pool", row.pool},       {"device", row.device},     {"shape", row.shape},
          {"members", row.members}, {"bytes", row.bytes},       {"blocks", row.blocks},
          {"free", row.free},       {"owned", row.owned},       {"offered", row.offered},
          {"shared", row.shared},   {"orphaned", row.orphaned}, {"waiting", row.waiting}};
}
Json to_json(const PoolReply& reply) {
  Json parcels = Json::array();
  for (const Parcel& parcel : reply.parcels) parcels.push_back(to_json(parcel));
  Json pools = Json::array();
  for (const PoolStatus& row : reply.pools) pools.push_back(to_json(row));
  return {{"make", reply.make},
          {"later", reply.later},
          {"slabs", reply.slabs},
          {"bytes", reply.bytes},
          {"blocks", to_json(reply.blocks)},
          {"number", reply.number},
          {"parcels", parcels},
          {"waiting", reply.waiting},
          {"pools", pools},
          {"more", reply.more}};
}

std::string read_pool(JsonObject& object) {
  std::string pool = object.text("pool");
  if (pool.empty() || pool.size() > kLongestName || !is_plain(pool)) {
    object.fail(concat("pool is not 1 to ", kLongestName, " bytes of printable ASCII"));
  }
  return pool;
}

JoinPool read_join(JsonObject& object) {
  JoinPool asked;
  asked.pool = read_pool(object);
  asked.role = object.text("role");
  asked.device = read_device(object);
  asked.shape = object.text("shape");
  if (asked.shape.size() > kLongestShape || !is_plain(asked.shape)) {
    object.fail(concat("shape is not at most ", kLongestShape, " bytes of printable ASCII"));
  }
  asked.blocks = object.count("blocks", 1, kMostPoolBlocks);
  if (const Json* bytes = object.take("bytes")) asked.bytes = read_bytes(object, *bytes);
  if (asked.bytes == 0) object.fail("bytes are none");
  return asked;
}

std::optional<PoolRequest> read_pool_request(JsonObject& object, std::string_view operation) {
  if (operation == "join") return read_join(object);
  if (operation == "add") return AddSlabs{.bytes = read_sizes(object)};
  if (operation == "fetch") return FetchSlabs{.first = object.count("first", 0, kMostCount)};
  if (operation == "grant") return Grant{.most = object.count("most", 0, kMostNamedBlocks)};
  if (operation == "give-back") return GiveBack{.blocks = read_blocks(object)};
  if (operation == "share") return Share{.blocks = read_blocks(object)};
  if (operation == "offer") {
    return Offer{.role = object.text("role"), .parcel = read_parcel(object)};
  }
  if (operation == "accept") return Accept{.most = object.count("most", 0, kMostCount)};
  if (operation == "finish") return Finish{.number = read_number(object, "number")};
  if (operation == "cancel") return Cancel{.pool = read_pool(object), .id = object.text("id")};
  if (operation == "leave") return Leave{};
  if (operation == "list") return ListPools{.first = object.count("first", 0, kMostCount)};
  if (operation == "remove") return RemovePool{.pool = read_pool(object)};
  return std::nullopt;
}

Result<PoolStatus> read_pool_row(const Json& json) {
  JsonObject object(json, "keeper: pools");
  PoolStatus row{.pool = object.text("pool"), .device = object.text("device")};
  row.shape = object.text("shape");
  row.members = object.count("members", 0, kMostCount);
  if (const Json* bytes = object.take("bytes")) row.bytes = read_bytes(object, *bytes);
  row.blocks = object.count("blocks", 0, kMostCount);
  row.free = object.count("free", 0, kMostCount);
  row.owned = object.count("owned", 0, kMostCount);
  row.offered = object.count("offered", 0, kMostCount);
  row.shared = object.count("shared", 0, kMostCount);
  row.orphaned = object.count("orphaned", 0, kMostCount);
  row.waiting = object.count("waiting", 0, kMostCount);
  AQUA_TRY(object.finish());
  return row;
}

// The elements of a list, each read by `read`.
template <typename Row, typename Read>
Result<std::vector<Row>> read_list(const Json& list, const Read& read) {
  std::vector<Row> rows;
  for (const Json& json : list) {
    AQUA_ASSIGN(Row row, read(json));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<Parcel> read_whole_parcel(const Json& json) {
  JsonObject object(json, "keeper: parcels");
  Parcel parcel = read_parcel(object);
  AQUA_TRY(object.finish());
  return parcel;
}

}  // namespace

std::string encode(const PoolRequest& request) {
  return dump(std::visit([](const auto& asked) { return to_json(asked); }, request));
}

std::string encode(const Result<PoolReply>& reply) {
  return reply.ok() ? dump(to_json(*reply)) : encode_refusal(reply.error());
}

std::size_t packet_bytes(const Parcel& parcel) {
  constexpr std::size_t kAround = 256;  // keys, brackets and numbers
  std::size_t bytes = kAround + 2 * parcel.id.size() + 2 * parcel.note.size();  // with escapes
  for_each_run(parcel.blocks, [&](std::uint32_t first, std::size_t count) {
    bytes += digits(first) + digits(count) + 2;
  });
  return bytes;
}

Result<void> check_bytes(const Parcel& parcel) {
  const std::size_t bytes = packet_bytes(parcel);
  if (bytes <= kMostParcelBytes) return {};
  return Error{Code::invalid_argument,
               concat("parcel ", parcel.id.substr(0, 40), ": its ", parcel.blocks.size(),
                      " blocks are so scattered that it takes ", bytes,
                      " bytes to name them, of at most ", kMostParcelBytes)};
}

Result<std::optional<PoolRequest>> decode_pool_request(std::string_view packet) {
  constexpr std::string_view kPool = "pool-";
  const Json json = parse_shallow(packet, kDeepest);
  JsonObject object(json, "keeper");
  const std::string operation = object.text("op");
  if (!operation.starts_with(kPool)) return std::optional<PoolRequest>();
  auto request = read_pool_request(object, std::string_view(operation).substr(kPool.size()));
  if (!request) object.fail(concat("no operation '", operation.substr(0, 40), "'"));
  AQUA_TRY(object.finish());
  return request;
}

Result<PoolReply> decode_pool_reply(std::string_view packet) {
  const Json json = parse_shallow(packet, kDeepest);
  if (auto refused = read_refusal(json)) return std::move(*refused);
  JsonObject object(json, "keeper");
  PoolReply reply{.make = object.flag_or("make", false), .later = object.flag_or("later", false)};
  reply.slabs = object.count("slabs", 0, kMostSlabs);
  reply.bytes = read_sizes(object);
  reply.blocks = read_blocks(object);
  reply.number = read_number(object, "number");
  reply.waiting = object.count("waiting", 0, kMostCount);
  reply.more = object.flag_or("more", false);
  const Json* parcels = object.take("parcels");
  const Json* pools = object.take("pools");
  for (const Json* list : {parcels, pools}) {
    if (list != nullptr && !list->is_array()) object.fail("parcels or pools is not a list");
  }
  AQUA_TRY(object.finish());
  AQUA_ASSIGN(reply.parcels, read_list<Parcel>(*parcels, read_whole_parcel));
  AQUA_ASSIGN(reply.pools, read_list<PoolStatus>(*pools, read_pool_row));
  return reply;
}

}  // namespace aqua::pool_wire
