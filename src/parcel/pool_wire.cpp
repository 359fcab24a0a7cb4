// SPDX-License-Identifier: Apache-2.0
#include "parcel/pool_wire.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/keeper/limits.hpp"
#include "base/shallow_json.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "parcel/parcel_json.hpp"

namespace aqua::pool_wire {
namespace {

using Json = nlohmann::json;

Json to_json(const JoinPool& asked) {
  Json json{{"op", "pool-join"},
            {"pool", asked.pool},
            {"role", asked.role},
            {"device", to_string(asked.device)},
            {"shape", asked.shape},
            {"blocks", asked.blocks},
            {"block_tokens", asked.block_tokens},
            {"bytes", asked.bytes},
            {"quota", asked.quota}};
  if (asked.courier) {
    json["takes_from"] = asked.courier->takes_from;
    json["peer"] = asked.courier->peer;
  }
  return json;
}
Json to_json(const AddSlabs& asked) {
  return {{"op", "pool-add"}, {"bytes", asked.bytes}};
}
Json to_json(const FetchSlabs& asked) {
  return {{"op", "pool-fetch"}, {"first", asked.first}};
}
Json to_json(const Grant& asked) {
  return {{"op", "pool-grant"}, {"most", asked.most}, {"least", asked.least}};
}
Json to_json(const GiveBack& asked) {
  return {{"op", "pool-give-back"}, {"blocks", json_of(asked.blocks)}};
}
Json to_json(const Share& asked) {
  return {{"op", "pool-share"}, {"blocks", json_of(asked.blocks)}};
}
Json to_json(const Offer& asked) {
  Json json = json_of(asked.parcel);
  json["op"] = "pool-offer";
  json["role"] = asked.role;
  return json;
}
Json to_json(const Open& asked) {
  return {{"op", "pool-open"},
          {"role", asked.role},
          {"id", asked.head.id},
          {"turn", asked.head.turn},
          {"needs_room", asked.needs_room},
          {"since", asked.since}};
}
Json to_json(const Renew& asked) {
  return {{"op", "pool-renew"}, {"number", asked.number}, {"above", asked.above}};
}
Json to_json(const Admit& asked) {
  return {{"op", "pool-admit"}, {"from", asked.from}, {"parcels", asked.parcels}};
}
Json to_json(const Close& asked) {
  Json json = json_of(asked.parcel);
  json["op"] = "pool-close";
  return json;
}
Json to_json(const Recall& asked) {
  return {{"op", "pool-recall"}, {"number", asked.number}};
}
Json to_json(const Confirm& asked) {
  return {{"op", "pool-confirm"}, {"number", asked.number}};
}
Json to_json(const Accept& asked) {
  return {{"op", "pool-accept"}, {"most", asked.most}};
}
Json to_json(const Finish& asked) {
  return {{"op", "pool-finish"}, {"number", asked.number}, {"what", name_of(asked.what)}};
}
Json to_json(const Cancel& asked) {
  return {{"op", "pool-cancel"}, {"pool", asked.pool}, {"id", asked.id}, {"up_to", asked.up_to}};
}
Json to_json(const Leave& /*asked*/) {
  return {{"op", "pool-leave"}};
}
Json to_json(const ListPools& asked) {
  return {{"op", "pool-list"}, {"first", asked.first}};
}
Json to_json(const ListParcels& asked) {
  return {{"op", "pool-parcels"}, {"pool", asked.pool}, {"after", asked.after}};
}
Json to_json(const RemovePool& asked) {
  return {{"op", "pool-remove"}, {"pool", asked.pool}};
}
Json to_json(const TellCutOff& asked) {
  return {{"op", "pool-cut-off"},
          {"role", asked.role},
          {"id", asked.head.id},
          {"turn", asked.head.turn}};
}
Json to_json(const Release& asked) {
  return {{"op", "pool-release"}, {"pool", asked.pool}};
}
Json to_json(const MoveQuota& asked) {
  return {{"op", "pool-quota"},
          {"pool", asked.pool},
          {"from", asked.from},
          {"to", asked.to},
          {"slabs", asked.slabs}};
}
Json to_json(const PoolReply& reply) {
  Json parcels = Json::array();
  for (const Parcel& parcel : reply.parcels) parcels.push_back(json_of(parcel));
  Json told = Json::array();
  for (const ParcelNews& news : reply.told) told.push_back(json_of(news));
  Json pools = Json::array();
  for (const PoolStatus& row : reply.pools) pools.push_back(json_of(row));
  Json json{{"make", reply.make},
            {"later", reply.later},
            {"slabs", reply.slabs},
            {"bytes", reply.bytes},
            {"blocks", json_of(reply.blocks)},
            {"number", reply.number},
            {"open", reply.open},
            {"closed", reply.closed},
            {"turn", reply.turn},
            {"parcels", parcels},
            {"told", told},
            {"waiting", reply.waiting},
            {"pools", pools},
            {"more", reply.more}};
  for (const ParcelStatus& row : reply.listed) json["listed"].push_back(json_of(row));
  return json;
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
  asked.blocks = object.count("blocks", 0, kMostPoolBlocks);
  asked.block_tokens = object.count("block_tokens", 1, kMostCount);
  if (const Json* bytes = object.take("bytes")) asked.bytes = read_bytes(object, *bytes);
  if ((asked.bytes == 0) != (asked.blocks == 0)) object.fail("blocks without bytes, or the like");
  asked.quota = object.count("quota", 0, kMostPoolBlocks);
  if (object.has("peer")) {
    asked.courier = {.takes_from = object.text("takes_from"), .peer = object.text("peer")};
    if (asked.courier->peer.size() > kLongestPeer) object.fail("peer is too long");
  }
  return asked;
}

std::optional<PoolRequest> read_pool_request(JsonObject& object, std::string_view operation) {
  if (operation == "join") return read_join(object);
  if (operation == "add") return AddSlabs{.bytes = read_sizes(object)};
  if (operation == "fetch") return FetchSlabs{.first = object.count("first", 0, kMostCount)};
  if (operation == "grant") {
    Grant asked{.most = object.count("most", 0, kMostNamedBlocks), .least = 1};
    if (object.has("least")) asked.least = object.count("least", 0, kMostPoolBlocks);
    return asked;
  }
  if (operation == "give-back") return GiveBack{.blocks = read_blocks(object)};
  if (operation == "share") return Share{.blocks = read_blocks(object)};
  if (operation == "offer") {
    return Offer{.role = object.text("role"), .parcel = read_parcel(object)};
  }
  if (operation == "open") {
    Open asked{.role = object.text("role"), .head = read_head(object)};
    asked.needs_room = object.flag_or("needs_room", false);
    if (object.has("since")) asked.since = read_number(object, "since");
    return asked;
  }
  if (operation == "renew") {
    return Renew{.number = read_number(object, "number"), .above = read_number(object, "above")};
  }
  if (operation == "admit") {
    return Admit{.from = object.text("from"), .parcels = object.count("parcels", 0, kMostCount)};
  }
  if (operation == "close") return Close{.parcel = read_parcel(object)};
  if (operation == "recall") return Recall{.number = read_number(object, "number")};
  if (operation == "confirm") return Confirm{.number = read_number(object, "number")};
  if (operation == "release") return Release{.pool = read_pool(object)};
  if (operation == "accept") return Accept{.most = object.count("most", 0, kMostCount)};
  if (operation == "finish") {
    Finish asked{.number = read_number(object, "number")};
    if (object.has("what")) asked.what = read_event(object, "what");
    if (!is_an_end(asked.what)) object.fail("what is nothing that a giver is told at last");
    return asked;
  }
  if (operation == "cancel") {
    Cancel asked{.pool = read_pool(object), .id = object.text("id")};
    if (object.has("up_to")) asked.up_to = read_number(object, "up_to");
    return asked;
  }
  if (operation == "cut-off") {
    return TellCutOff{.role = object.text("role"), .head = read_head(object)};
  }
  if (operation == "leave") return Leave{};
  if (operation == "list") return ListPools{.first = object.count("first", 0, kMostCount)};
  if (operation == "parcels") {
    return ListParcels{.pool = read_pool(object), .after = read_number(object, "after")};
  }
  if (operation == "remove") return RemovePool{.pool = read_pool(object)};
  if (operation == "quota") {
    return MoveQuota{.pool = read_pool(object),
                     .from = object.text("from"),
                     .to = object.text("to"),
                     .slabs = object.count("slabs", 0, kMostSlabs)};
  }
  return std::nullopt;
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

}  // namespace

std::string encode(const PoolRequest& request) {
  return dump(std::visit([](const auto& asked) { return to_json(asked); }, request));
}

std::string encode(const Result<PoolReply>& reply) {
  return reply.ok() ? dump(to_json(*reply)) : encode_refusal(reply.error());
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
  reply.open = object.flag_or("open", false);
  reply.closed = object.flag_or("closed", false);
  if (object.has("turn")) reply.turn = read_number(object, "turn");
  reply.waiting = object.count("waiting", 0, kMostCount);
  reply.more = object.flag_or("more", false);
  const Json* parcels = object.take("parcels");
  const Json* told = object.take("told");
  const Json* pools = object.take("pools");
  static const Json kNone = Json::array();
  const Json* listed = object.has("listed") ? object.take("listed") : &kNone;
  for (const Json* list : {parcels, told, pools, listed}) {
    if (list != nullptr && !list->is_array())
      object.fail("parcels, told, pools or listed is not a list");
  }
  AQUA_TRY(object.finish());
  for (const Json& one : *parcels) {  // one that cannot be read takes no other with it
    if (auto parcel = read_whole_parcel(one); parcel.ok()) {
      reply.parcels.push_back(*std::move(parcel));
    } else {
      reply.unread = parcel.error().message;
    }
  }
  for (const Json& one : *told) {  // likewise
    if (auto news = read_news(one); news.ok()) {
      reply.told.push_back(*std::move(news));
    } else {
      reply.unread = news.error().message;
    }
  }
  AQUA_ASSIGN(reply.pools, read_list<PoolStatus>(*pools, read_pool_row));
  AQUA_ASSIGN(reply.listed, read_list<ParcelStatus>(*listed, read_parcel_row));
  return reply;
}

}  // namespace aqua::pool_wire
