// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/bound.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "tools/place/exact/patterns.hpp"
#include "tools/place/exact/program.hpp"
#include "tools/place/model/score.hpp"

namespace aqua::place {
namespace {

constexpr std::size_t kBoundPatterns = 30'000;
constexpr long kBoundSteps = 2'000'000;

Load total_of(const Cluster& cluster) {
  Load total;
  for (const Model& model : cluster.models()) total.add(model);
  return total;
}

Bytes divided_up(Bytes value, Bytes by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

// The classes of `kinds` merged by sign and shards.
Kinds by_counts(Kinds kinds) {
  std::map<std::pair<int, int>, ModelClass> merged;
  for (const ModelClass& c : kinds.classes) {
    ModelClass& into = merged[{-c.shards, c.sign()}];
    into.bytes = c.sign();
    into.shards = c.shards;
    into.models.insert(into.models.end(), c.models.begin(), c.models.end());
  }
  kinds.classes.clear();
  for (auto& [key, c] : merged) kinds.classes.push_back(std::move(c));
  return kinds;
}

Bytes count_part(const Kinds& kinds, const Pattern& pattern) {
  const UnitType& type = kinds.types[static_cast<std::size_t>(pattern.type)];
  std::int64_t net = type.base.net;
  for (const auto& [c, n] : pattern.counts) {
    const ModelClass& kind = kinds.classes[static_cast<std::size_t>(c)];
    net += std::int64_t{kind.sign()} * kind.shards * n;
  }
  return type.hbm_bytes * std::abs(net);
}

}  // namespace

Bytes simple_bound(const Cluster& cluster) {
  const Load total = total_of(cluster);
  const auto units = static_cast<Bytes>(cluster.units().size());
  Bytes smallest = cluster.largest_hbm();
  for (const Unit& unit : cluster.units()) smallest = std::min(smallest, unit.hbm_bytes);
  const Bytes mean = divided_up(std::abs(total.bytes) + smallest * std::abs(total.net), units);
  const Bytes whole = smallest * divided_up(std::abs(total.net), units);
  return std::max(mean, whole);
}

CountBound count_bound(const Cluster& cluster, MipSolver& solver, const Deadline& deadline) {
  CountBound result{.bound = simple_bound(cluster)};
  const Kinds kinds = by_counts(Kinds::of(cluster));
  const Patterns patterns =
      enumerate(kinds, std::numeric_limits<Bytes>::max(), kBoundPatterns, kBoundSteps);
  if (!patterns.complete) return result;
  std::vector<Bytes> part;
  std::set<Bytes> levels;
  for (const Pattern& pattern : patterns.all) {
    part.push_back(count_part(kinds, pattern));
    levels.insert(part.back());
  }
  const auto units = static_cast<Bytes>(cluster.units().size());
  const Bytes bytes = std::abs(total_of(cluster).bytes);
  const auto scale = static_cast<double>(cluster.largest_hbm());
  Bytes best = std::numeric_limits<Bytes>::max();
  for (const Bytes level : levels) {
    if (level >= best) break;
    const LinearProgram program = pattern_program(
        kinds, patterns.all, [&](std::size_t p) { return part[p] <= level; },
        [&](std::size_t p) { return static_cast<double>(part[p]) / scale; });
    const MipOutcome outcome = solver.solve(program, deadline.part(0.5));
    if (outcome.status == MipStatus::infeasible) continue;
    if (outcome.bound <= -kInfinity || deadline.over()) return result;
    // A solver's bound is right to a millionth or so of its cost.
    const double least = std::max(0.0, outcome.bound * (1 - 1e-9) - 1e-6) * scale;
    const Bytes bound = std::max(level, divided_up(bytes + static_cast<Bytes>(least), units));
    if (bound >= best) continue;
    best = bound;
    result.start.reset();
    if (outcome.solved()) {
      Assignment start = assign(cluster, kinds, patterns.all, rounded(outcome.values));
      if (allowed(cluster, start)) result.start = std::move(start);
    }
  }
  if (best != std::numeric_limits<Bytes>::max()) result.bound = std::max(result.bound, best);
  return result;
}

}  // namespace aqua::place
