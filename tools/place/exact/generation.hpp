// SPDX-License-Identifier: Apache-2.0
// Column generation: whether fractions of unit patterns, none above a level, cover everything that
// has to be placed. A linear program over the columns so far prices what is covered, the columns
// worth most at these prices join it, and so on, until nothing is left uncovered, or until no
// columns at all could cover it at these prices, which is a proof.
//
// Threads: one.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tools/place/exact/mip.hpp"
#include "tools/place/model/cluster.hpp"
#include "tools/place/model/deadline.hpp"

namespace aqua::place {

class Generation {
 public:
  // What is covered: by all units together `target` of it. No price of it is above `most_price`,
  // or below its negative.
  struct Row {
    double target = 0;
    double most_price = 1;
  };
  // What a unit of this type may hold.
  struct Column {
    int type = 0;
    std::vector<std::pair<int, double>> entries{};  // row, how much; ascending
    Bytes value = 0;                                // its unit's part of the objective
  };
  struct Priced {
    double most = 0;  // what the best column is worth, among all there could be
    std::vector<Column> columns{};
  };
  // For a unit of `type` at `prices`, by row: the best column, and some worth more than `rent`.
  using Pricer = std::function<Priced(int type, const std::vector<double>& prices, double rent)>;
  struct Part {
    const Column* column = nullptr;
    double units = 0;
  };

  // `units`: of each type. Solver and deadline outlive this.
  Generation(std::vector<double> units, std::vector<Row> rows, MipSolver& solver,
             const Deadline& deadline)
      : units_(std::move(units)), rows_(std::move(rows)), solver_(solver), deadline_(deadline) {}

  void add(Column column) { place_of(std::move(column)); }

  // Infeasible: proven, nothing covers all at this level. Optimal: parts() do. Unknown otherwise.
  [[nodiscard]] MipStatus try_level(Bytes level, const Pricer& pricer);

  // What covered everything at the last level that was optimal. Valid until this changes.
  [[nodiscard]] std::vector<Part> parts() const;

 private:
  // The dual solution that prices come from.
  struct Prices {
    std::vector<double> of_rows, rents;
  };
  std::size_t place_of(Column column);
  [[nodiscard]] LinearProgram program(Bytes level, const std::set<std::size_t>& here);
  [[nodiscard]] Prices prices_of(const MipOutcome& outcome) const;
  // What has to stay uncovered at these prices, whatever columns there are; new columns on the way.
  double price(Bytes level, const Prices& prices, const Pricer& pricer, std::set<std::size_t>& here,
               bool& news);

  const std::vector<double> units_;
  const std::vector<Row> rows_;
  MipSolver& solver_;
  const Deadline& deadline_;
  std::vector<Column> columns_;
  std::map<std::pair<int, std::vector<std::pair<int, double>>>, std::size_t> places_;
  std::vector<std::size_t> shown_;  // the columns that the last program had, in its order
  std::vector<std::pair<std::size_t, double>> parts_;
};

// Looks for the least of the levels from `low` to `high` that `possible` does not prove to be
// infeasible, until the two are at most `fine` apart. Tries `first` first. Returns {lower, upper}:
// every level below `lower` is proven infeasible.
[[nodiscard]] std::pair<Bytes, Bytes> least_possible(
    Bytes low, Bytes high, Bytes first, Bytes fine, const Deadline& deadline,
    const std::function<MipStatus(Bytes)>& possible);

}  // namespace aqua::place
