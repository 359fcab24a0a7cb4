// SPDX-License-Identifier: Apache-2.0
#include "tools/place/model/score.hpp"

#include <algorithm>
#include <set>

#include "tools/place/model/matching.hpp"

namespace aqua::place {

bool Score::better_than(const Score& other, Bytes move_cost_bytes) const {
  const Bytes mine = priced(move_cost_bytes);
  const Bytes theirs = other.priced(move_cost_bytes);
  if (mine != theirs) return mine < theirs;
  if (served != other.served) return served > other.served;
  return moves < other.moves;
}

std::vector<Load> loads_of(const Cluster& cluster, const Assignment& assignment) {
  std::vector<Load> loads(cluster.units().size());
  for (std::size_t m = 0; m < assignment.size(); ++m) {
    loads[static_cast<std::size_t>(cluster.unit_of(assignment[m]))].add(cluster.models()[m]);
  }
  return loads;
}

Bytes served_by(const Cluster& cluster, const std::vector<int>& models) {
  std::vector<Bytes> offers;
  std::vector<Bytes> needs;
  for (const int m : models) {
    const Model& model = cluster.model(m);
    const auto shards = static_cast<std::size_t>(model.shards);
    if (model.bytes > 0) offers.insert(offers.end(), shards, model.bytes);
    if (model.bytes < 0) needs.insert(needs.end(), shards, -model.bytes);
  }
  return largest_matching(std::move(offers), std::move(needs));
}

Score score_of(const Cluster& cluster, const Assignment& assignment) {
  Score score;
  const auto loads = loads_of(cluster, assignment);
  std::vector<std::vector<int>> members(loads.size());
  for (std::size_t m = 0; m < assignment.size(); ++m) {
    const int model = static_cast<int>(m);
    members[static_cast<std::size_t>(cluster.unit_of(assignment[m]))].push_back(model);
    const int current = cluster.current(model);
    if (current >= 0 && current != assignment[m]) ++score.moves;
  }
  for (std::size_t u = 0; u < loads.size(); ++u) {
    score.objective = std::max(score.objective, loads[u].value(cluster.units()[u].hbm_bytes));
    score.served += served_by(cluster, members[u]);
  }
  return score;
}

bool allowed(const Cluster& cluster, const Assignment& assignment) {
  std::vector<int> used(cluster.servers().size());
  std::set<std::pair<int, int>> groups;
  for (std::size_t m = 0; m < assignment.size(); ++m) {
    const int model = static_cast<int>(m);
    const int server = assignment[m];
    if (server < 0 || static_cast<std::size_t>(server) >= used.size()) return false;
    int& gpus = used[static_cast<std::size_t>(server)];
    gpus += cluster.models()[m].shards;
    if (gpus > cluster.servers()[static_cast<std::size_t>(server)].gpus) return false;
    if (cluster.fixed(model) >= 0 && cluster.fixed(model) != server) return false;
    const int group = cluster.apart(model);
    if (group >= 0 && !groups.emplace(server, group).second) return false;
  }
  return true;
}

}  // namespace aqua::place
