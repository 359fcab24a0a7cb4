// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/keeper_wire.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/shallow_json.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"

namespace aqua::sharing::wire {
namespace {

using Json = nlohmann::json;

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
  if (asked.spare) json["spare"] = true;
  if (asked.order != 0) json["order"] = asked.order;
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
  if (asked.wait) json["wait"] = true;
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
Json to_json(const ListCopies& asked) {
  return {{"op", "copies"}, {"first", asked.first}};
}
Json to_json(const Retire& asked) {
  return {{"op", "retire"}, {"model", asked.model}, {"version", asked.version}};
}
Json to_json(const Drop& asked) {
  return {{"op", "drop"},
          {"model", asked.model},
          {"version", asked.version},
          {"device", to_string(asked.device)}};
}
Json to_json(const Freeing& asked) {
  Json json = {{"op", "freeing"}};
  if (asked.wait) json["wait"] = true;
  return json;
}
Json to_json(const ModelCopy& row) {
  return {{"model", row.model},         {"version", row.version},
          {"shard", row.shard},         {"shards", row.shards},
          {"device", row.device},       {"bytes", row.bytes},
          {"readers", row.readers},     {"filling", row.filling},
          {"spare", row.spare},         {"superseded", row.superseded},
          {"last_used", row.last_used}, {"readers_unknown", row.readers_unknown}};
}
Json to_json(const ModelStatus& row) {
  return {{"model", row.model},   {"version", row.version}, {"shards", row.shards},
          {"copies", row.copies}, {"filling", row.filling}, {"readers", row.readers},
          {"bytes", row.bytes},   {"shows", row.shows},     {"superseded", row.superseded}};
}
Json to_json(const Reply& reply) {
  Json models = Json::array();
  for (const ModelStatus& row : reply.models) models.push_back(to_json(row));
  Json json = {{"copy", reply.copy},         {"version", reply.version}, {"slabs", reply.slabs},
               {"enforced", reply.enforced}, {"bytes", reply.bytes},     {"models", models},
               {"more", reply.more}};
  if (reply.later) json["later"] = true;
  if (reply.freeing != 0) json["freeing"] = reply.freeing;
  for (const ModelCopy& row : reply.copies) json["copies"].push_back(to_json(row));
  return json;
}

CopyId read_copy(JsonObject& object) {
  return read_number(object, "copy");
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

std::optional<Request> read_request(JsonObject& object, const std::string& operation) {
  if (operation == "publish") {
    Publish asked{.shard = read_shard(object),
                  .device = read_device(object),
                  .spare = object.flag_or("spare", false),
                  .order = object.has("order") ? read_number(object, "order") : 0};
    if (asked.shard.version.empty()) object.fail("version is empty");
    return asked;
  }
  if (operation == "add") return Add{.copy = read_copy(object), .bytes = read_sizes(object)};
  if (operation == "commit") return Commit{.copy = read_copy(object)};
  if (operation == "attach") {
    return Attach{.shard = read_shard(object),
                  .device = read_device(object),
                  .wait = object.flag_or("wait", false)};
  }
  if (operation == "fetch") {
    return Fetch{.copy = read_copy(object), .first = object.count("first", 0, kMostManifestSlabs)};
  }
  if (operation == "detach") return Detach{.copy = read_copy(object)};
  if (operation == "models") return ListModels{.first = object.count("first", 0, kMostCount)};
  if (operation == "copies") return ListCopies{.first = object.count("first", 0, kMostCount)};
  if (operation == "retire") {
    return Retire{.model = object.text("model"), .version = object.text("version")};
  }
  if (operation == "drop") {
    return Drop{.model = object.text("model"),
                .version = object.text("version"),
                .device = read_device(object)};
  }
  if (operation == "freeing") return Freeing{.wait = object.flag_or("wait", false)};
  return std::nullopt;
}

Result<ModelStatus> read_model_row(const Json& json) {
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

Result<ModelCopy> read_copy_row(const Json& json) {
  JsonObject object(json, "keeper: copies");
  ModelCopy row{.model = object.text("model"), .version = object.text("version")};
  row.shard = object.count("shard", 0, kMostShards - 1);
  row.shards = object.count("shards", 1, kMostShards);
  row.device = to_string(read_device(object));
  if (const Json* bytes = object.take("bytes")) row.bytes = read_bytes(object, *bytes);
  row.readers = object.count("readers", 0, kMostCount);
  row.filling = object.flag_or("filling", false);
  row.spare = object.flag_or("spare", false);
  row.superseded = object.flag_or("superseded", false);
  row.readers_unknown = object.flag_or("readers_unknown", false);
  row.last_used = read_number(object, "last_used");
  AQUA_TRY(object.finish());
  return row;
}

const Json* take_list(JsonObject& object, const char* name) {
  const Json* list = object.take(name);
  if (list != nullptr && !list->is_array()) object.fail(concat(name, " is not a list"));
  return list;
}

template <typename Row>
Result<void> read_rows(const Json& list, Result<Row> (*read)(const Json&), std::vector<Row>& rows) {
  for (const Json& json : list) {
    AQUA_ASSIGN(Row row, read(json));
    rows.push_back(std::move(row));
  }
  return {};
}

}  // namespace

std::string encode(const Request& request) {
  return dump(std::visit([](const auto& asked) { return to_json(asked); }, request));
}

std::string encode(const Result<Reply>& reply) {
  return reply.ok() ? dump(to_json(*reply)) : encode_refusal(reply.error());
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
  if (auto refused = read_refusal(json)) return std::move(*refused);
  JsonObject object(json, "keeper");
  Reply reply{.copy = read_copy(object), .version = object.text("version")};
  reply.slabs = object.count("slabs", 0, kMostManifestSlabs);
  reply.enforced = object.flag_or("enforced", false);
  reply.later = object.flag_or("later", false);
  reply.bytes = read_sizes(object);
  reply.more = object.flag_or("more", false);
  reply.freeing = object.has("freeing") ? read_number(object, "freeing") : 0;
  const Json* models = take_list(object, "models");
  const Json* copies = object.has("copies") ? take_list(object, "copies") : nullptr;
  AQUA_TRY(object.finish());
  AQUA_TRY(read_rows(*models, read_model_row, reply.models));
  if (copies != nullptr) AQUA_TRY(read_rows(*copies, read_copy_row, reply.copies));
  return reply;
}

}  // namespace aqua::sharing::wire
