// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/columns.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "tools/place/exact/pricing.hpp"
#include "tools/place/exact/program.hpp"
#include "tools/place/model/score.hpp"

namespace aqua::place {
namespace {

constexpr std::size_t kColumnsARound = 200;
constexpr double kTiny = 1e-7;       // of a solver's prices
constexpr double kUncovered = 1e-4;  // of a model: less is taken for none
constexpr Bytes kGoal = 100;         // first a hundredth below what was found is tried
constexpr Bytes kFine = 2000;        // of H: levels are told apart no finer

class Master {
 public:
  Master(const Cluster& cluster, MipSolver& solver, const Deadline& deadline)
      : cluster_(cluster), solver_(solver), deadline_(deadline), kinds_(Kinds::of(cluster)) {}

  [[nodiscard]] bool possible() const {
    return std::all_of(kinds_.types.begin(), kinds_.types.end(),
                       [&](const UnitType& type) { return Pricing::possible(kinds_, type); });
  }

  // Its units' patterns are good ones to begin with.
  void add_units_of(const Assignment& assignment) {
    std::vector<int> kind_of(cluster_.models().size(), -1), type_of(cluster_.units().size());
    for (std::size_t k = 0; k < kinds_.classes.size(); ++k)
      for (const int m : kinds_.classes[k].models)
        kind_of[static_cast<std::size_t>(m)] = static_cast<int>(k);
    for (std::size_t t = 0; t < kinds_.types.size(); ++t)
      for (const int u : kinds_.types[t].units)
        type_of[static_cast<std::size_t>(u)] = static_cast<int>(t);
    std::vector<std::map<int, int>> counts(cluster_.units().size());
    for (std::size_t m = 0; m < assignment.size(); ++m)
      if (kind_of[m] >= 0)
        ++counts[static_cast<std::size_t>(cluster_.unit_of(assignment[m]))][kind_of[m]];
    for (std::size_t u = 0; u < counts.size(); ++u)
      add({.type = type_of[u], .counts = {counts[u].begin(), counts[u].end()}});
  }

  // Infeasible: no placement reaches this level. Optimal: fractions of patterns do. Else unknown.
  MipStatus try_level(Bytes level) {
    std::vector<Pricing> pricing;
    for (std::size_t t = 0; t < kinds_.types.size(); ++t)
      pricing.emplace_back(kinds_, static_cast<int>(t), level);
    std::set<std::size_t> here;  // beyond what the level admits: the pricing rounds
    while (!deadline_.over()) {
      const MipOutcome outcome = solver_.solve(program(level, here), deadline_.left());
      if (outcome.status != MipStatus::optimal || outcome.duals.empty()) return MipStatus::unknown;
      if (outcome.cost < kUncovered) return MipStatus::optimal;
      const std::size_t types = kinds_.types.size();
      const std::vector<double> prices(outcome.duals.begin() + static_cast<std::ptrdiff_t>(types),
                                       outcome.duals.end());
      double least = outcome.cost;  // that no further pattern can go below
      bool news = false;
      for (std::size_t t = 0; t < types; ++t) {
        const double rent = -outcome.duals[t];
        Pricing::Found found = pricing[t].best(prices, rent + kTiny, kColumnsARound);
        least -=
            std::max(0.0, found.most - rent) * static_cast<double>(kinds_.types[t].units.size());
        for (Pattern& pattern : found.patterns) {
          const std::size_t place = add(std::move(pattern));
          news = here.insert(place).second || news;
        }
      }
      if (least > kUncovered) return MipStatus::infeasible;
      if (!news) return MipStatus::unknown;
    }
    return MipStatus::unknown;
  }

 private:
  // Its place among the patterns.
  std::size_t add(Pattern pattern) {
    const auto [at, isNew] =
        places_.emplace(std::pair(pattern.type, pattern.counts), patterns_.size());
    if (isNew) {
      Load load = kinds_.types[static_cast<std::size_t>(pattern.type)].base;
      for (const auto& [k, n] : pattern.counts)
        load.add(cluster_.model(kinds_.classes[static_cast<std::size_t>(k)].models.front()), n);
      pattern.value = load.value(kinds_.types[static_cast<std::size_t>(pattern.type)].hbm_bytes);
      patterns_.push_back(std::move(pattern));
    }
    return at->second;
  }

  // Least GPUs' worth of models that patterns cover not once: behind the patterns a column for too
  // few and one for too many of each class.
  [[nodiscard]] LinearProgram program(Bytes level, const std::set<std::size_t>& here) const {
    LinearProgram all = pattern_program(
        kinds_, patterns_,
        [&](std::size_t p) { return patterns_[p].value <= level || here.contains(p); },
        [](std::size_t) { return 0.0; });
    for (auto& column : all.columns) {
      column.integer = false;
      if (column.upper > 0) column.upper = kInfinity;  // or it would have a price of its own
    }
    const auto types = static_cast<int>(kinds_.types.size());
    for (int t = 0; t < types; ++t)  // an empty unit
      all.columns.push_back({.integer = false, .entries = {{t, 1}}});
    for (std::size_t k = 0; k < kinds_.classes.size(); ++k) {
      const double shards = kinds_.classes[k].shards;
      const int row = types + static_cast<int>(k);
      all.columns.push_back({.cost = shards, .integer = false, .entries = {{row, 1}}});
      all.columns.push_back({.cost = shards, .integer = false, .entries = {{row, -1}}});
    }
    return all;
  }

  const Cluster& cluster_;
  MipSolver& solver_;
  const Deadline& deadline_;
  const Kinds kinds_;
  std::vector<Pattern> patterns_;
  std::map<std::pair<int, std::vector<std::pair<int, int>>>, std::size_t> places_;
};

}  // namespace

Bytes column_bound(const Cluster& cluster, MipSolver& solver, Bytes known, const Assignment& found,
                   const Deadline& deadline) {
  const Bytes objective = score_of(cluster, found).objective;
  if (objective <= known) return known;
  Master master(cluster, solver, deadline);
  if (!master.possible()) return known;
  master.add_units_of(found);
  // No placement is below `low`; whether one is at `high` or above it is open.
  Bytes low = known, high = objective;
  const Bytes fine = std::max<Bytes>(1, cluster.largest_hbm() / kFine);
  Bytes level = std::max(low, objective - 1 - objective / kGoal);
  while (low < high && !deadline.over()) {
    const MipStatus status = master.try_level(level);
    if (status == MipStatus::infeasible) {
      low = level + 1;
    } else {
      high = level;
      if (status == MipStatus::unknown && deadline.over()) break;
    }
    if (high - low <= fine) break;
    level = low + (high - low) / 2;
  }
  return low;
}

}  // namespace aqua::place
