// SPDX-License-Identifier: Apache-2.0
// Occupancy is an assignment that is being changed, with the load of each unit and the room on each
// server that follow from it.
//
// Threads: one. Borrows the cluster.
#pragma once

#include <vector>

#include "tools/place/model/cluster.hpp"

namespace aqua::place {

class Occupancy {
 public:
  explicit Occupancy(const Cluster& cluster);
  Occupancy(const Cluster& cluster, const Assignment& assignment);

  [[nodiscard]] const Assignment& assignment() const { return server_of_; }
  [[nodiscard]] int server_of(int model) const { return server_of_[at(model)]; }
  [[nodiscard]] const std::vector<int>& models_in(int unit) const { return members_[at(unit)]; }
  [[nodiscard]] const Load& load(int unit) const { return loads_[at(unit)]; }
  [[nodiscard]] Bytes value(int unit) const;
  // The value of `unit` with model `in` added and model `out` removed; -1 stands for none.
  [[nodiscard]] Bytes value_with(int unit, int in, int out) const;
  [[nodiscard]] int worst_unit() const;  // the smallest index of equals
  [[nodiscard]] int free_gpus(int server) const { return free_[at(server)]; }

  // True when `server` can take `model` once `leaving` (-1: none) is gone from it.
  [[nodiscard]] bool room_for(int model, int server, int leaving = -1) const;
  void put(int model, int server);
  void take(int model);
  void swap(int a, int b);

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  const Cluster* cluster_;
  Assignment server_of_;
  std::vector<int> free_;
  std::vector<Load> loads_;
  std::vector<std::vector<int>> members_;
  std::vector<std::vector<int>> groups_;  // by server: the anti-affinity groups there
};

}  // namespace aqua::place
