// SPDX-License-Identifier: Apache-2.0
#include "tools/place/model/occupancy.hpp"

#include <algorithm>
#include <utility>

namespace aqua::place {

Occupancy::Occupancy(const Cluster& cluster)
    : cluster_(&cluster),
      server_of_(cluster.models().size(), -1),
      loads_(cluster.units().size()),
      members_(cluster.units().size()),
      groups_(cluster.servers().size()) {
  for (const Server& server : cluster.servers()) free_.push_back(server.gpus);
}

Occupancy::Occupancy(const Cluster& cluster, const Assignment& assignment) : Occupancy(cluster) {
  for (std::size_t m = 0; m < assignment.size(); ++m) put(static_cast<int>(m), assignment[m]);
}

Bytes Occupancy::value(int unit) const {
  return load(unit).value(cluster_->units()[at(unit)].hbm_bytes);
}

Bytes Occupancy::value_with(int unit, int in, int out) const {
  Load changed = load(unit);
  if (in >= 0) changed.add(cluster_->model(in));
  if (out >= 0) changed.add(cluster_->model(out), -1);
  return changed.value(cluster_->units()[at(unit)].hbm_bytes);
}

int Occupancy::worst_unit() const {
  int worst = 0;
  Bytes most = -1;
  for (int u = 0; at(u) < loads_.size(); ++u) {
    if (value(u) > most) {
      most = value(u);
      worst = u;
    }
  }
  return worst;
}

bool Occupancy::room_for(int model, int server, int leaving) const {
  const int back = leaving < 0 ? 0 : cluster_->model(leaving).shards;
  if (free_[at(server)] + back < cluster_->model(model).shards) return false;
  const int group = cluster_->apart(model);
  if (group < 0 || (leaving >= 0 && cluster_->apart(leaving) == group)) return true;
  const auto& there = groups_[at(server)];
  return std::find(there.begin(), there.end(), group) == there.end();
}

void Occupancy::put(int model, int server) {
  server_of_[at(model)] = server;
  free_[at(server)] -= cluster_->model(model).shards;
  const int unit = cluster_->unit_of(server);
  loads_[at(unit)].add(cluster_->model(model));
  members_[at(unit)].push_back(model);
  if (cluster_->apart(model) >= 0) groups_[at(server)].push_back(cluster_->apart(model));
}

void Occupancy::take(int model) {
  const int server = std::exchange(server_of_[at(model)], -1);
  free_[at(server)] += cluster_->model(model).shards;
  const int unit = cluster_->unit_of(server);
  loads_[at(unit)].add(cluster_->model(model), -1);
  auto& members = members_[at(unit)];
  members.erase(std::find(members.begin(), members.end(), model));
  auto& there = groups_[at(server)];
  if (cluster_->apart(model) >= 0) {
    there.erase(std::find(there.begin(), there.end(), cluster_->apart(model)));
  }
}

void Occupancy::swap(int a, int b) {
  const int first = server_of(a);
  const int second = server_of(b);
  take(a);
  take(b);
  put(a, second);
  put(b, first);
}

}  // namespace aqua::place
