// SPDX-License-Identifier: Apache-2.0
#include "tools/place/model/conflict.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::place {
namespace {

Error conflict(const std::string& what) {
  return Error{Code::failed_precondition, concat("no placement: ", what)};
}

Result<void> check_sizes(const Cluster& cluster) {
  const auto largest = std::max_element(cluster.servers().begin(), cluster.servers().end(),
                                        [](auto& a, auto& b) { return a.gpus < b.gpus; });
  for (const Model& model : cluster.models()) {
    if (model.shards > largest->gpus) {
      return conflict(concat("model '", model.id, "' has ", model.shards,
                             " shards, which share a server, and the largest server, '",
                             largest->id, "', has ", largest->gpus, " GPUs"));
    }
  }
  if (cluster.total_shards() > cluster.total_gpus()) {
    return conflict(concat(cluster.total_shards(), " shards on ", cluster.total_gpus(), " GPUs: ",
                           cluster.total_shards() - cluster.total_gpus(), " GPUs are missing"));
  }
  return {};
}

// A server of G GPUs holds at most G / k models of k or more shards.
Result<void> check_large_models(const Cluster& cluster) {
  std::map<int, std::int64_t> count;
  for (const Model& model : cluster.models()) ++count[model.shards];
  std::int64_t wanted = 0;
  for (auto it = count.rbegin(); it != count.rend(); ++it) {
    wanted += it->second;
    std::int64_t places = 0;
    for (const Server& server : cluster.servers()) places += server.gpus / it->first;
    if (wanted > places) {
      return conflict(concat(wanted, " models have ", it->first,
                             " or more shards, and the servers have room for ", places,
                             " of that size"));
    }
  }
  return {};
}

Result<void> check_fixed(const Cluster& cluster) {
  std::vector<int> used(cluster.servers().size());
  std::map<std::pair<int, int>, int> first_of_group;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    const int model = static_cast<int>(m);
    const int server = cluster.fixed(model);
    if (server < 0) continue;
    const Server& place = cluster.servers()[static_cast<std::size_t>(server)];
    int& gpus = used[static_cast<std::size_t>(server)];
    gpus += cluster.model(model).shards;
    if (gpus > place.gpus) {
      return conflict(concat("the models fixed to server '", place.id, "' have ", gpus,
                             " shards or more, it has ", place.gpus, " GPUs (last: '",
                             cluster.model(model).id, "')"));
    }
    if (cluster.apart(model) < 0) continue;
    const auto [other, fresh] = first_of_group.try_emplace({server, cluster.apart(model)}, model);
    if (!fresh) {
      return conflict(concat("models '", cluster.model(other->second).id, "' and '",
                             cluster.model(model).id, "' must be apart ('",
                             cluster.model(model).apart, "') and are both fixed to server '",
                             place.id, "'"));
    }
  }
  return {};
}

Result<void> check_groups(const Cluster& cluster) {
  std::map<std::string, std::vector<const Model*>> groups;
  for (const Model& model : cluster.models()) {
    if (!model.apart.empty()) groups[model.apart].push_back(&model);
  }
  for (const auto& [name, members] : groups) {
    if (members.size() > cluster.servers().size()) {
      return conflict(concat(members.size(), " models must be apart ('", name, "'), there are ",
                             cluster.servers().size(), " servers"));
    }
  }
  return {};
}

}  // namespace

Result<void> check_conflicts(const Cluster& cluster) {
  AQUA_TRY(check_sizes(cluster));
  AQUA_TRY(check_large_models(cluster));
  AQUA_TRY(check_fixed(cluster));
  return check_groups(cluster);
}

}  // namespace aqua::place
