// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/buckets.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tools/place/exact/bucket_pricing.hpp"
#include "tools/place/model/score.hpp"
#include "tools/place/search/heuristic.hpp"

namespace aqua::place {
namespace {

// Patterns to write down. In a large cluster a bucket holds many models, so that finer ones pay.
constexpr std::size_t kBucketPatterns = 60'000, kMostOfALarge = 250'000;
constexpr std::size_t kLarge = 500;  // models
constexpr long kStepsAPattern = 100;
constexpr Bytes kFineBuckets = 2000;  // of H: levels are told apart no finer
constexpr std::size_t kBucketColumns = 300;

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

// As many buckets as their patterns can still be written down for.
std::optional<BucketPricing> finest(const Cluster& cluster, Bytes highest) {
  const Kinds kinds = Kinds::of(cluster);
  const std::size_t models = cluster.models().size();
  const std::size_t most = models > kLarge ? kMostOfALarge : kBucketPatterns;
  for (const std::size_t pieces : {64U, 52U, 42U, 34U, 28U, 23U, 18U, 14U, 11U, 9U, 7U, 5U}) {
    Kinds some = bucketed(kinds, pieces, models);
    Patterns patterns =
        patterns_by_net(some, highest, most, kStepsAPattern * static_cast<long>(most));
    if (patterns.complete) return BucketPricing(cluster, std::move(some), std::move(patterns));
  }
  return std::nullopt;
}

// Whole units of the parts: first what is whole in them, then the largest fractions, as long as
// there are models for them.
std::vector<int> whole_units(const Kinds& kinds, const std::vector<Generation::Part>& parts,
                             const std::vector<Pattern>& patterns) {
  std::vector<int> units, models;
  for (const UnitType& type : kinds.types) units.push_back(static_cast<int>(type.units.size()));
  for (const ModelClass& c : kinds.classes) models.push_back(static_cast<int>(c.models.size()));
  std::vector<int> chosen(parts.size());
  const auto take = [&](std::size_t p, int times) {
    const Pattern& pattern = patterns[p];
    int& left = units[static_cast<std::size_t>(pattern.type)];
    times = std::min(times, left);
    for (const auto& [k, n] : pattern.counts)
      times = std::min(times, models[static_cast<std::size_t>(k)] / n);
    left -= times;
    for (const auto& [k, n] : pattern.counts) models[static_cast<std::size_t>(k)] -= n * times;
    chosen[p] += times;
  };
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto fraction = [&](std::size_t p) { return parts[p].units - std::floor(parts[p].units); };
  for (const std::size_t p : order) take(p, static_cast<int>(parts[p].units + 1e-6));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return fraction(a) > fraction(b); });
  for (const std::size_t p : order) take(p, 1);
  return chosen;
}

// Gives `kinds` with its models in the order in which assign() gives them out: those of each bucket
// with most bytes go where the parts have most bytes of it.
Kinds in_order(const BucketPricing& pricing, Kinds kinds,
               const std::vector<Generation::Part>& parts, const std::vector<Pattern>& patterns,
               const std::vector<int>& chosen) {
  for (std::size_t k = 0; k < kinds.classes.size(); ++k) {
    std::vector<std::pair<double, std::size_t>> places;  // wanted bytes, turn
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (const auto& [c, n] : patterns[p].counts) {
        if (static_cast<std::size_t>(c) != k) continue;
        const double wanted = pricing.share_of(*parts[p].column, c) / n;
        for (int i = 0; i < n * chosen[p]; ++i) places.emplace_back(wanted, places.size());
      }
    }
    std::sort(places.begin(), places.end());
    auto& models = kinds.classes[k].models;  // ascending in bytes
    std::vector<int> ordered(places.size(), -1);
    std::vector<bool> given(models.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t at = i * models.size() / places.size();
      ordered[places[i].second] = models[at];
      given[at] = true;
    }
    for (std::size_t i = 0; i < models.size(); ++i)
      if (!given[i]) ordered.push_back(models[i]);
    models = std::move(ordered);
  }
  return kinds;
}

std::optional<Assignment> placement_near(const Cluster& cluster, const BucketPricing& pricing,
                                         const std::vector<Generation::Part>& parts) {
  std::vector<Pattern> patterns;
  patterns.reserve(parts.size());
  for (const Generation::Part& part : parts) patterns.push_back(pricing.pattern_of(*part.column));
  const std::vector<int> chosen = whole_units(pricing.kinds(), parts, patterns);
  const Kinds kinds = in_order(pricing, pricing.kinds(), parts, patterns, chosen);
  const Assignment some = assign(cluster, kinds, patterns, chosen);
  std::optional<Assignment> all = construct(cluster, &some);
  if (all && !allowed(cluster, *all)) return std::nullopt;
  return all;
}

}  // namespace

CountBound bucket_bound(const Cluster& cluster, MipSolver& solver, Bytes known,
                        const Assignment& found, const Deadline& deadline) {
  CountBound result{.bound = known};
  const Bytes objective = score_of(cluster, found).objective;
  const auto pricing = finest(cluster, objective);
  if (!pricing || objective <= known) return result;
  Generation generation(pricing->units(), pricing->rows(), solver, deadline);
  for (Generation::Column& column : pricing->columns_of(found)) generation.add(std::move(column));
  const auto possible = [&](Bytes level) {
    return generation.try_level(level,
                                [&](int type, const std::vector<double>& prices, double rent) {
                                  return pricing->best(level, type, prices, rent, kBucketColumns);
                                });
  };
  const Bytes fine = std::max<Bytes>(1, cluster.largest_hbm() / kFineBuckets);
  const Bytes middle = known + (objective - known) / 2;
  result.bound = least_possible(known, objective, middle, fine, deadline, possible).first;
  if (const auto parts = generation.parts(); !parts.empty())
    result.start = placement_near(cluster, *pricing, parts);
  return result;
}

}  // namespace aqua::place
