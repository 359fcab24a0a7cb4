// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/models/listing.hpp"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "aqua/sharing/models.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::tool {
namespace {

using sharing::ModelCopy;
using sharing::ModelStatus;
using Json = nlohmann::ordered_json;

Json to_json(const ModelStatus& model) {
  return {{"model", model.model},   {"version", model.version}, {"shards", model.shards},
          {"copies", model.copies}, {"filling", model.filling}, {"readers", model.readers},
          {"bytes", model.bytes},   {"shows", model.shows},     {"superseded", model.superseded}};
}

std::string_view state_of(const ModelStatus& model) {
  if (model.superseded) return "superseded";
  return model.shows ? "there" : "lacks shards";
}

void print_row(std::ostream& out, const auto& model, const auto& version, const auto& state,
               const auto&... counts) {
  out << std::left << std::setw(24) << model << ' ' << std::setw(16) << version << ' '
      << std::setw(12) << state << std::right;
  ((out << ' ' << std::setw(8) << counts), ...);
  out << '\n';
}

std::string_view state_of(const ModelCopy& copy) {
  if (copy.superseded) return "superseded";
  return copy.filling ? "filling" : "there";
}

std::string place_of(const ModelCopy& copy) {
  return copy.spare ? "host" : copy.device;
}

}  // namespace

Result<std::string> list_models(const ModelsCommand& command) {
  AQUA_ASSIGN(const auto models, sharing::list_models(command.load.keeper));
  // Behind that: what goes in between is told twice, rather than not at all.
  AQUA_ASSIGN(const std::uint64_t freeing, sharing::bytes_being_freed(command.load.keeper));
  if (command.json) {
    Json all = Json::array();
    for (const ModelStatus& model : models) all.push_back(to_json(model));
    return Json{{"models", all}, {"freeing_bytes", freeing}}.dump(2) + "\n";
  }
  std::ostringstream out;
  if (freeing != 0) out << (freeing >> 20) << " MiB are let go of, and being freed\n";
  if (models.empty()) return out.str() + "the keeper has no models\n";
  print_row(out, "model", "version", "state", "shards", "copies", "readers", "MiB");
  for (const ModelStatus& model : models) {
    print_row(out, model.model, model.version, state_of(model), model.shards, model.copies,
              model.readers, model.bytes >> 20);
  }
  return out.str();
}

Result<std::string> list_copies(const ModelsCommand& command) {
  AQUA_ASSIGN(const auto copies, sharing::list_copies(command.load.keeper));
  if (command.json) {
    Json all = Json::array();
    for (const ModelCopy& copy : copies) {
      all.push_back({{"model", copy.model},
                     {"version", copy.version},
                     {"shard", copy.shard},
                     {"shards", copy.shards},
                     {"device", place_of(copy)},
                     {"readers", copy.readers},
                     {"readers_unknown", copy.readers_unknown},
                     {"bytes", copy.bytes},
                     {"filling", copy.filling},
                     {"superseded", copy.superseded},
                     {"last_used", copy.last_used}});
    }
    return Json{{"copies", all}}.dump(2) + "\n";
  }
  if (copies.empty()) return std::string("the keeper has no models\n");
  std::ostringstream out;
  print_row(out, "model", "version", "state", "shard", "readers", "MiB", "device");
  for (const ModelCopy& copy : copies) {
    const std::string readers = copy.readers_unknown ? "?" : concat(copy.readers);
    print_row(out, copy.model, copy.version, state_of(copy), copy.shard, readers, copy.bytes >> 20,
              place_of(copy));
  }
  return out.str();
}

}  // namespace aqua::tool
