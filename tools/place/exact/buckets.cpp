// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/buckets.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "tools/place/exact/patterns.hpp"
#include "tools/place/exact/program.hpp"
#include "tools/place/model/score.hpp"

namespace aqua::place {
namespace {

constexpr std::size_t kPatternsForWhole = 15'000;
constexpr std::size_t kPatternsForBound = 50'000;
constexpr long kMostSteps = 6'000'000;

struct Range {
  Bytes low = 0;
  Bytes high = 0;
};

// Sign and shards apart; each of these cut by bytes into `pieces` of about as many models.
Kinds bucketed(Kinds kinds, std::size_t pieces, std::size_t all) {
  std::map<std::pair<int, int>, std::vector<std::pair<Bytes, int>>> by_kind;
  for (const ModelClass& c : kinds.classes) {
    for (const int m : c.models) by_kind[{-c.shards, c.sign()}].emplace_back(c.bytes, m);
  }
  kinds.classes.clear();
  for (auto& [key, models] : by_kind) {
    std::sort(models.begin(), models.end());
    const std::size_t cuts =
        std::max<std::size_t>(1, pieces * models.size() / std::max<std::size_t>(all, 1));
    for (std::size_t i = 0; i < cuts; ++i) {
      ModelClass c;
      c.bytes = key.second;
      c.shards = -key.first;
      for (std::size_t at = i * models.size() / cuts; at < (i + 1) * models.size() / cuts; ++at) {
        c.models.push_back(models[at].second);
      }
      if (!c.models.empty()) kinds.classes.push_back(std::move(c));
    }
  }
  return kinds;
}

class Relaxation {
 public:
  Relaxation(const Cluster& cluster, Kinds kinds, std::size_t most_patterns)
      : cluster_(cluster),
        kinds_(std::move(kinds)),
        patterns_(enumerate(kinds_, std::numeric_limits<Bytes>::max(), most_patterns, kMostSteps)) {
    for (const Model& model : cluster.models()) total_.add(model);
    for (const Pattern& pattern : patterns_.all) measure(pattern);
  }
  [[nodiscard]] bool complete() const { return patterns_.complete; }

  // Whether a bottleneck of `level` could do; in whole numbers also with which assignment.
  MipStatus try_level(Bytes level, bool whole, MipSolver& solver, double seconds,
                      std::optional<Assignment>* assignment) const {
    const auto scale = static_cast<double>(cluster_.largest_hbm());
    LinearProgram program = pattern_program(
        kinds_, patterns_.all, [&](std::size_t p) { return possible(p, level); },
        [](std::size_t) { return 0.0; });
    const int row = static_cast<int>(program.rows.size());
    const double total = static_cast<double>(total_.bytes) / scale;
    program.rows.push_back({-kInfinity, total});  // the least bytes that the units can have
    program.rows.push_back({total, kInfinity});   // the largest
    for (std::size_t p = 0; p < patterns_.all.size(); ++p) {
      if (!possible(p, level)) continue;
      const Range range = within(p, level);
      program.columns[p].entries.emplace_back(row, static_cast<double>(range.low) / scale);
      program.columns[p].entries.emplace_back(row + 1, static_cast<double>(range.high) / scale);
    }
    for (auto& column : program.columns) column.integer = whole;
    const MipOutcome outcome = solver.solve(program, seconds);
    if (whole && outcome.solved()) {
      *assignment = assign(cluster_, kinds_, patterns_.all, rounded(outcome.values));
    }
    return outcome.status;
  }

 private:
  void measure(const Pattern& pattern) {
    const UnitType& type = kinds_.types[static_cast<std::size_t>(pattern.type)];
    Range range{type.base.bytes, type.base.bytes};
    std::int64_t net = type.base.net;
    for (const auto& [c, n] : pattern.counts) {
      const ModelClass& kind = kinds_.classes[static_cast<std::size_t>(c)];
      const Bytes shards = Bytes{kind.shards} * n;
      range.low += shards * cluster_.model(kind.models.front()).bytes;
      range.high += shards * cluster_.model(kind.models.back()).bytes;
      net += kind.sign() * shards;
    }
    ranges_.push_back(range);
    parts_.push_back(type.hbm_bytes * (net < 0 ? -net : net));
  }
  [[nodiscard]] Range within(std::size_t p, Bytes level) const {
    const Bytes most = level - parts_[p];
    return {std::max(ranges_[p].low, -most), std::min(ranges_[p].high, most)};
  }
  [[nodiscard]] bool possible(std::size_t p, Bytes level) const {
    if (parts_[p] > level) return false;
    const Range range = within(p, level);
    return range.low <= range.high;
  }

  const Cluster& cluster_;
  Kinds kinds_;
  Patterns patterns_;
  Load total_;
  std::vector<Range> ranges_;
  std::vector<Bytes> parts_;
};

}  // namespace

namespace {

// The levels between which the linear relaxation turns possible, to a thousandth of H.
Range bisect(const Relaxation& relaxation, Range levels, Bytes step, MipSolver& solver,
             const Deadline& deadline) {
  while (levels.high - levels.low > step && !deadline.over()) {
    const Bytes middle = levels.low + (levels.high - levels.low) / 2;
    const auto status = relaxation.try_level(middle, false, solver, deadline.left(), nullptr);
    if (status == MipStatus::unknown) break;
    (status == MipStatus::infeasible ? levels.low : levels.high) = middle;
  }
  return levels;
}

}  // namespace

CountBound bucket_bound(const Cluster& cluster, MipSolver& solver, Bytes known, Bytes found,
                        const Deadline& deadline) {
  CountBound result{.bound = known};
  const Kinds kinds = Kinds::of(cluster);
  const Bytes step = std::max<Bytes>(1, cluster.largest_hbm() / 1000);
  const std::size_t models = cluster.models().size();
  // Few and wide for whole numbers, then many and narrow for a closer bound.
  for (const std::size_t pieces : {14U, 11U, 9U, 7U, 5U}) {
    const Relaxation relaxation(cluster, bucketed(kinds, pieces, models), kPatternsForWhole);
    if (!relaxation.complete()) continue;
    const Range levels = bisect(relaxation, {known, found}, step, solver, deadline);
    result.bound = levels.low;
    for (Bytes level = levels.high, more = step * 4; level <= found + more && !deadline.over();
         level += more, more *= 2) {
      std::optional<Assignment> start;
      relaxation.try_level(level, true, solver, deadline.left() / 3, &start);
      if (!start) continue;
      if (allowed(cluster, *start)) result.start = std::move(start);
      break;
    }
    break;
  }
  for (const std::size_t pieces : {26U, 22U, 18U}) {
    const Relaxation relaxation(cluster, bucketed(kinds, pieces, models), kPatternsForBound);
    if (!relaxation.complete()) continue;
    result.bound = bisect(relaxation, {result.bound, found}, step, solver, deadline).low;
    break;
  }
  return result;
}

}  // namespace aqua::place
