// SPDX-License-Identifier: Apache-2.0
// A problem with its names resolved: the form that all solvers work on.
//
// A unit is what pairs form inside: an NVLink domain, one server or several. Shards of one model
// share a server; lender and borrower share a unit.
//
// Threads: immutable once made. Borrows nothing.
#pragma once

#include <vector>

#include "aqua/result.hpp"
#include "tools/place/model/problem.hpp"

namespace aqua::place {

struct Unit {
  std::vector<int> servers;
  int gpus = 0;
  Bytes hbm_bytes = 0;  // H: of its largest GPU
};

class Cluster {
 public:
  // invalid_argument for a server or model that names what does not exist, twice the same id, or
  // a number out of range.
  [[nodiscard]] static Result<Cluster> make(Problem problem);

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const std::vector<Server>& servers() const { return problem_.servers; }
  [[nodiscard]] const std::vector<Model>& models() const { return problem_.models; }
  [[nodiscard]] const Model& model(int m) const { return models()[static_cast<std::size_t>(m)]; }
  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }
  [[nodiscard]] int unit_of(int server) const { return at(unit_of_, server); }
  // Indices of servers; -1: none.
  [[nodiscard]] int current(int model) const { return at(current_, model); }
  [[nodiscard]] int fixed(int model) const { return at(fixed_, model); }
  // Index of the model's anti-affinity group; -1: none.
  [[nodiscard]] int apart(int model) const { return at(apart_, model); }
  [[nodiscard]] int groups() const { return groups_; }

  [[nodiscard]] std::int64_t total_gpus() const { return total_gpus_; }
  [[nodiscard]] std::int64_t total_shards() const { return total_shards_; }
  [[nodiscard]] Bytes largest_hbm() const { return largest_hbm_; }

 private:
  Cluster() = default;
  static int at(const std::vector<int>& v, int i) { return v[static_cast<std::size_t>(i)]; }

  Problem problem_;
  std::vector<Unit> units_;
  std::vector<int> unit_of_;
  std::vector<int> current_;
  std::vector<int> fixed_;
  std::vector<int> apart_;
  int groups_ = 0;
  std::int64_t total_gpus_ = 0;
  std::int64_t total_shards_ = 0;
  Bytes largest_hbm_ = 0;
};

// +1 for a producer, -1 for a consumer, 0 for a neutral model.
[[nodiscard]] constexpr int sign_of(Bytes bytes) {
  return bytes > 0 ? 1 : bytes < 0 ? -1 : 0;
}

// M and N of a unit (Aqua, section 5, equations 4 and 5), and its part in equation 6.
struct Load {
  Bytes bytes = 0;
  std::int64_t net = 0;

  void add(const Model& model, int times = 1) {
    bytes += model.bytes * model.shards * times;
    net += std::int64_t{sign_of(model.bytes)} * model.shards * times;
  }
  [[nodiscard]] Bytes value(Bytes hbm_bytes) const {
    return (bytes < 0 ? -bytes : bytes) + hbm_bytes * (net < 0 ? -net : net);
  }
};

}  // namespace aqua::place
