// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "tools/place/exact/patterns.hpp"
#include "tools/place/search/heuristic.hpp"

namespace aqua::place {
namespace {

// How often each class occurs on a server, by where its models are or run now.
using Counts = std::map<std::pair<int, int>, int>;  // (server, class)

std::vector<int> class_of(const Cluster& cluster, const Kinds& kinds) {
  std::vector<int> result(cluster.models().size(), -1);
  for (std::size_t c = 0; c < kinds.classes.size(); ++c) {
    for (const int m : kinds.classes[c].models) {
      result[static_cast<std::size_t>(m)] = static_cast<int>(c);
    }
  }
  return result;
}

// For units of one server each: which server takes over whose models. Greedy, best overlap first.
std::vector<int> exchange_servers(const Cluster& cluster, const Kinds& kinds, const Counts& planned,
                                  const Counts& running) {
  std::vector<int> to(cluster.servers().size());
  for (std::size_t s = 0; s < to.size(); ++s) to[s] = static_cast<int>(s);
  for (const UnitType& type : kinds.types) {
    if (type.bins.size() != 1 || type.units.size() < 2) continue;
    std::vector<std::tuple<int, int, int>> overlaps;  // -kept, content of, on
    for (const int u : type.units) {
      const int content = cluster.units()[static_cast<std::size_t>(u)].servers.front();
      for (const int v : type.units) {
        const int on = cluster.units()[static_cast<std::size_t>(v)].servers.front();
        int kept = 0;
        for (auto it = planned.lower_bound({content, 0});
             it != planned.end() && it->first.first == content; ++it) {
          const auto here = running.find({on, it->first.second});
          if (here != running.end()) kept += std::min(it->second, here->second);
        }
        if (kept > 0) overlaps.emplace_back(-kept, content, on);
      }
    }
    std::sort(overlaps.begin(), overlaps.end());
    std::map<int, int> taken;    // content -> on
    std::map<int, int> settled;  // on -> content
    for (const auto& [minus_kept, content, on] : overlaps) {
      if (taken.count(content) > 0 || settled.count(on) > 0) continue;
      taken[content] = on;
      settled[on] = content;
    }
    auto next = type.units.begin();
    for (const int u : type.units) {
      const int content = cluster.units()[static_cast<std::size_t>(u)].servers.front();
      if (const auto found = taken.find(content); found != taken.end()) {
        to[static_cast<std::size_t>(content)] = found->second;
        continue;
      }
      const auto server = [&] {
        return cluster.units()[static_cast<std::size_t>(*next)].servers.front();
      };
      while (settled.count(server()) > 0) ++next;
      settled[server()] = content;
      to[static_cast<std::size_t>(content)] = server();
    }
  }
  return to;
}

}  // namespace

Assignment settle(const Cluster& cluster, const Assignment& assignment) {
  const Kinds kinds = Kinds::of(cluster);
  const auto kind = class_of(cluster, kinds);
  Counts planned;
  Counts running;
  for (std::size_t m = 0; m < assignment.size(); ++m) {
    if (kind[m] < 0) continue;
    ++planned[{assignment[m], kind[m]}];
    const int current = cluster.current(static_cast<int>(m));
    if (current >= 0) ++running[{current, kind[m]}];
  }
  if (running.empty()) return assignment;
  const auto to = exchange_servers(cluster, kinds, planned, running);
  Assignment result = assignment;
  for (std::size_t c = 0; c < kinds.classes.size(); ++c) {
    std::map<int, int> slots;  // server -> how many of this class
    for (const int m : kinds.classes[c].models) {
      ++slots[to[static_cast<std::size_t>(assignment[static_cast<std::size_t>(m)])]];
    }
    std::vector<int> rest;
    for (const int m : kinds.classes[c].models) {
      const auto slot = slots.find(cluster.current(m));
      if (slot == slots.end() || slot->second == 0) {
        rest.push_back(m);
        continue;
      }
      --slot->second;
      result[static_cast<std::size_t>(m)] = slot->first;
    }
    auto slot = slots.begin();
    for (const int m : rest) {
      while (slot->second == 0) ++slot;
      --slot->second;
      result[static_cast<std::size_t>(m)] = slot->first;
    }
  }
  return result;
}

}  // namespace aqua::place
