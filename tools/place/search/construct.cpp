// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <tuple>

#include "tools/place/exact/pack.hpp"
#include "tools/place/model/occupancy.hpp"
#include "tools/place/search/heuristic.hpp"

namespace aqua::place {
namespace {

// Servers one by one, without a look at memory: finds a way where the greedy order painted itself
// into a corner.
std::optional<Assignment> pack_all(const Cluster& cluster) {
  Assignment assignment(cluster.models().size(), -1);
  std::vector<PackBin> bins;
  for (const Server& server : cluster.servers()) bins.push_back({server.gpus});
  std::vector<PackItem> items;
  std::vector<std::size_t> models;
  for (std::size_t m = 0; m < assignment.size(); ++m) {
    const int model = static_cast<int>(m);
    const int fixed = cluster.fixed(model);
    if (fixed < 0) {
      items.push_back({cluster.model(model).shards, cluster.apart(model)});
      models.push_back(m);
      continue;
    }
    PackBin& bin = bins[static_cast<std::size_t>(fixed)];
    bin.free -= cluster.model(model).shards;
    if (cluster.apart(model) >= 0) bin.groups.push_back(cluster.apart(model));
    assignment[m] = fixed;
  }
  const auto found = items.size() <= 5000 ? pack(items, bins, nullptr, 200'000) : std::nullopt;
  if (!found) return std::nullopt;
  for (std::size_t i = 0; i < models.size(); ++i) assignment[models[i]] = (*found)[i];
  return assignment;
}

int best_server(const Cluster& cluster, const Occupancy& occupancy, int model) {
  int best = -1;
  Bytes least = 0;
  for (int s = 0; s < static_cast<int>(cluster.servers().size()); ++s) {
    if (!occupancy.room_for(model, s)) continue;
    const int unit = cluster.unit_of(s);
    const Bytes grows = occupancy.value_with(unit, model, -1) - occupancy.value(unit);
    const bool tighter = best >= 0 && grows == least &&
                         occupancy.free_gpus(s) < occupancy.free_gpus(best) &&
                         cluster.model(model).shards > 1;
    if (best < 0 || grows < least || tighter) {
      best = s;
      least = grows;
    }
  }
  return best;
}

}  // namespace

std::optional<Assignment> construct(const Cluster& cluster, const Assignment* keep) {
  Occupancy occupancy(cluster);
  std::vector<int> order(cluster.models().size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [&](int m) {
    const Model& model = cluster.model(m);
    const bool neutral = model.bytes == 0;
    return std::tuple(cluster.fixed(m) < 0, -model.shards, neutral,
                      -(model.bytes < 0 ? -model.bytes : model.bytes), m);
  };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
  std::vector<int> rest;
  for (const int m : order) {
    int server = cluster.fixed(m);
    if (server < 0 && keep != nullptr) server = (*keep)[static_cast<std::size_t>(m)];
    if (server < 0 || !occupancy.room_for(m, server)) {
      rest.push_back(m);
    } else {
      occupancy.put(m, server);
    }
  }
  for (const int m : rest) {
    if (cluster.fixed(m) >= 0) return std::nullopt;
    const int server = best_server(cluster, occupancy, m);
    if (server < 0) return keep == nullptr ? pack_all(cluster) : std::nullopt;
    occupancy.put(m, server);
  }
  return occupancy.assignment();
}

}  // namespace aqua::place
