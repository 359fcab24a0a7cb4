// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/bottleneck.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "tools/place/exact/patterns.hpp"
#include "tools/place/exact/program.hpp"

namespace aqua::place {
namespace {

constexpr std::size_t kMostPatterns = 60'000;
constexpr long kMostSteps = 20'000'000;
constexpr std::size_t kTellApart = 12;  // units, up to which moves are counted exactly

class Bisection {
 public:
  Bisection(const Kinds& kinds, std::vector<Pattern> patterns, MipSolver& solver,
            const Deadline& deadline)
      : kinds_(kinds), patterns_(std::move(patterns)), solver_(solver), deadline_(deadline) {
    std::set<Bytes> values;
    for (const Pattern& pattern : patterns_) values.insert(pattern.value);
    values_.assign(values.begin(), values.end());
  }

  // The least level that is feasible, first in the linear relaxation, which is quick and leaves
  // few, then in whole numbers. `below`: a level known to be feasible; only lower ones are tried.
  void run(Bytes bound, Bytes below) {
    low_ = index_of(bound);
    high_ = index_of(below);
    std::size_t linear_high = high_;
    while (low_ < linear_high) {
      const std::size_t middle = low_ + (linear_high - low_) / 2;
      const MipStatus status = try_level(middle, false);
      if (status == MipStatus::unknown) break;
      (status == MipStatus::infeasible ? low_ : linear_high) =
          status == MipStatus::infeasible ? middle + 1 : middle;
    }
    proven_ = low_;
    std::size_t next = low_;  // where the relaxation ends the answer usually is
    while (low_ < high_ && !deadline_.over()) {
      const MipStatus status = try_level(next, true);
      if (status == MipStatus::infeasible) proven_ = std::max(proven_, next + 1);
      if (status == MipStatus::infeasible || status == MipStatus::unknown) low_ = next + 1;
      next = low_ + (high_ - std::min(low_, high_)) / 4;
    }
  }
  [[nodiscard]] bool infeasible() const { return proven_ >= values_.size(); }
  [[nodiscard]] Bytes bound(Bytes otherwise) const {
    return proven_ < values_.size() ? values_[proven_] : otherwise;
  }
  [[nodiscard]] const std::vector<int>& chosen() const { return chosen_; }
  [[nodiscard]] const std::vector<Pattern>& patterns() const { return patterns_; }

  // Finds the placement up to `level` that costs least; false without one in time.
  bool cheapest(Bytes level, const std::vector<double>& cost, bool& proven) {
    const LinearProgram program = pattern_program(
        kinds_, patterns_, [&](std::size_t p) { return patterns_[p].value <= level; },
        [&](std::size_t p) { return cost[p]; });
    const MipOutcome outcome = solver_.solve(program, deadline_);
    proven = outcome.status == MipStatus::optimal;
    if (outcome.solved()) chosen_ = rounded(outcome.values);
    return outcome.solved();
  }

 private:
  [[nodiscard]] std::size_t index_of(Bytes value) const {
    const auto at = std::lower_bound(values_.begin(), values_.end(), value);
    return static_cast<std::size_t>(at - values_.begin());
  }
  MipStatus try_level(std::size_t level, bool whole) {
    const Bytes most = values_[level];
    LinearProgram program = pattern_program(
        kinds_, patterns_, [&](std::size_t p) { return patterns_[p].value <= most; },
        [](std::size_t) { return 0.0; });
    for (auto& column : program.columns) column.integer = whole;
    const MipOutcome outcome = solver_.solve(program, deadline_.part(0.5));
    if (whole && outcome.solved()) {
      chosen_ = rounded(outcome.values);
      Bytes worst = 0;
      for (std::size_t p = 0; p < patterns_.size(); ++p) {
        if (chosen_[p] > 0) worst = std::max(worst, patterns_[p].value);
      }
      high_ = index_of(worst);
    }
    return outcome.status;
  }

  const Kinds& kinds_;
  std::vector<Pattern> patterns_;
  MipSolver& solver_;
  const Deadline& deadline_;
  std::vector<Bytes> values_;
  std::size_t low_ = 0;
  std::size_t high_ = 0;
  std::size_t proven_ = 0;  // every level below is proven infeasible
  std::vector<int> chosen_;
};

// Finds a placement up to `level` that serves at least `served`, with fewest moves: here each unit
// and each model's present server count by themselves.
std::optional<Assignment> fewest_moves(const Cluster& cluster, MipSolver& solver, Bytes level,
                                       Bytes served, const Deadline& deadline) {
  const Kinds kinds = Kinds::of(cluster, true);
  const Patterns patterns = enumerate(kinds, level, kMostPatterns, kMostSteps);
  if (!patterns.complete) return std::nullopt;
  const auto kept = [&](std::size_t p) {
    double models = 0;
    const UnitType& type = kinds.types[static_cast<std::size_t>(patterns.all[p].type)];
    const Unit& unit = cluster.units()[static_cast<std::size_t>(type.units.front())];
    for (const auto& [c, n] : patterns.all[p].counts) {
      const int current = kinds.classes[static_cast<std::size_t>(c)].current;
      if (current == unit.servers.front()) models += n;
    }
    return -models;
  };
  LinearProgram program = pattern_program(
      kinds, patterns.all, [](std::size_t) { return true; }, kept);
  const int row = static_cast<int>(program.rows.size());
  const auto scale = static_cast<double>(cluster.largest_hbm());
  program.rows.push_back({static_cast<double>(served) / scale - 1e-7, kInfinity});
  for (std::size_t p = 0; p < patterns.all.size(); ++p) {
    const Bytes part = served_by(cluster, kinds, patterns.all[p]);
    if (part > 0) {
      program.columns[p].entries.emplace_back(row, static_cast<double>(part) / scale);
    }
  }
  const MipOutcome outcome = solver.solve(program, deadline);
  if (!outcome.solved()) return std::nullopt;
  return assign(cluster, kinds, patterns.all, rounded(outcome.values));
}

bool moves_count(const Cluster& cluster) {
  bool any = false;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    any = any || cluster.current(static_cast<int>(m)) >= 0;
  }
  return any && cluster.units().size() <= kTellApart &&
         cluster.units().size() == cluster.servers().size();
}

}  // namespace

Exact solve_exactly(const Cluster& cluster, MipSolver& solver, Bytes bound,
                    const std::optional<Score>& incumbent, const Deadline& deadline) {
  Exact exact{.bound = bound};
  const Kinds kinds = Kinds::of(cluster);
  const Bytes below = incumbent ? incumbent->objective : std::numeric_limits<Bytes>::max();
  Patterns patterns = enumerate(kinds, below, kMostPatterns, kMostSteps);
  if (!patterns.complete) return exact;
  exact.patterns = true;
  Bisection bisection(kinds, std::move(patterns.all), solver, deadline);
  bisection.run(bound, below);
  exact.infeasible = !incumbent && bisection.infeasible();
  if (exact.infeasible) return exact;
  exact.bound = std::max(bound, bisection.bound(below));
  Bytes level = below;
  if (!bisection.chosen().empty()) {
    exact.assignment = assign(cluster, kinds, bisection.patterns(), bisection.chosen());
    level = score_of(cluster, *exact.assignment).objective;
  }
  if (level == std::numeric_limits<Bytes>::max()) return exact;
  std::vector<double> cost;
  const auto scale = static_cast<double>(cluster.largest_hbm());
  for (const Pattern& pattern : bisection.patterns()) {
    cost.push_back(-static_cast<double>(served_by(cluster, kinds, pattern)) / scale);
  }
  if (bisection.cheapest(level, cost, exact.served_best)) {
    exact.assignment = assign(cluster, kinds, bisection.patterns(), bisection.chosen());
  }
  if (!exact.assignment || !moves_count(cluster)) return exact;
  const Bytes served = score_of(cluster, *exact.assignment).served;
  if (auto calm = fewest_moves(cluster, solver, level, served, deadline)) {
    if (score_of(cluster, *calm).better_than(score_of(cluster, *exact.assignment), 0)) {
      exact.assignment = std::move(calm);
    }
  }
  return exact;
}

}  // namespace aqua::place
