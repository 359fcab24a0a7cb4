// SPDX-License-Identifier: Apache-2.0
#include "tools/place/search/baselines.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "tools/place/model/occupancy.hpp"

namespace aqua::place {
namespace {

template <typename Choose>
std::optional<Assignment> fill(const Cluster& cluster, const std::vector<int>& order,
                               Choose choose) {
  Occupancy occupancy(cluster);
  for (const int m : order) {
    std::vector<int> open;
    for (int s = 0; s < static_cast<int>(cluster.servers().size()); ++s) {
      const bool fixed_here = cluster.fixed(m) < 0 || cluster.fixed(m) == s;
      if (fixed_here && occupancy.room_for(m, s)) open.push_back(s);
    }
    if (open.empty()) return std::nullopt;
    occupancy.put(m, open[choose(open.size())]);
  }
  return occupancy.assignment();
}

std::vector<int> large_first(const Cluster& cluster, std::vector<int> order) {
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return cluster.model(a).shards > cluster.model(b).shards; });
  return order;
}

}  // namespace

std::optional<Assignment> first_fit(const Cluster& cluster) {
  std::vector<int> order(cluster.models().size());
  std::iota(order.begin(), order.end(), 0);
  const auto first = [](std::size_t) { return std::size_t{0}; };
  auto placed = fill(cluster, order, first);
  return placed ? placed : fill(cluster, large_first(cluster, order), first);
}

std::optional<Assignment> at_random(const Cluster& cluster, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<int> order(cluster.models().size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return fill(cluster, large_first(cluster, order), [&](std::size_t n) { return random() % n; });
}

}  // namespace aqua::place
