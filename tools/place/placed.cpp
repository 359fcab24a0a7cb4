// SPDX-License-Identifier: Apache-2.0
#include "tools/place/placed.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "tools/place/model/input.hpp"
#include "tools/place/report.hpp"

namespace aqua::place {
namespace {

Result<NamedPair> read_pair(const nlohmann::json& value, std::size_t index) {
  JsonObject object(value, concat("pairs[", index, "]"));
  NamedPair pair{.producer = object.text("producer"), .consumer = object.text("consumer")};
  (void)object.number_or("bytes", 0, 0, static_cast<double>(kMaxBytes));
  AQUA_TRY(object.finish());
  return pair;
}

}  // namespace

std::vector<NamedPair> named_pairs(const Cluster& cluster, const Placement& placement) {
  std::vector<NamedPair> named;
  named.reserve(placement.pairs.size());
  for (const Pair& pair : placement.pairs)
    named.push_back({shard_name(cluster, pair.producer), shard_name(cluster, pair.consumer)});
  return named;
}

Result<std::vector<NamedPair>> parse_pairs(std::string_view text) {
  const auto bad = [](const std::string& what) {
    return Error{Code::invalid_argument, concat("not a placement: ", what)};
  };
  if (text.size() > kMaxInput) return bad(concat("it has more than ", kMaxInput, " bytes"));
  const nlohmann::json all = parse_shallow(text, 8);
  if (!all.is_object()) return bad("it is no JSON object");
  if (all.value("version", nlohmann::json()) != 1) return bad("\"version\" is not 1");
  const auto pairs = all.find("pairs");
  if (pairs == all.end() || !pairs->is_array()) return bad("\"pairs\" is no array");
  std::vector<NamedPair> named;
  std::set<std::string> seen;
  for (const nlohmann::json& value : *pairs) {
    AQUA_ASSIGN(NamedPair pair, read_pair(value, named.size()));
    for (const std::string& name : {pair.producer, pair.consumer}) {
      if (!seen.insert(name).second) return bad(concat("'", name, "' is in two pairs"));
    }
    named.push_back(std::move(pair));
  }
  return named;
}

}  // namespace aqua::place
