// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/columns.hpp"

#include <algorithm>
#include <vector>

#include "tools/place/exact/generation.hpp"
#include "tools/place/exact/pricing.hpp"
#include "tools/place/model/score.hpp"

namespace aqua::place {
namespace {

constexpr std::size_t kColumnsARound = 200;
constexpr Bytes kGoal = 100;   // first a hundredth below what was found is tried
constexpr Bytes kFine = 2000;  // of H: levels are told apart no finer

// What a unit holds that has this pattern.
Generation::Column column_of(const Cluster& cluster, const Kinds& kinds, const Pattern& pattern) {
  const UnitType& type = kinds.types[static_cast<std::size_t>(pattern.type)];
  Generation::Column column{.type = pattern.type};
  Load load = type.base;
  for (const auto& [k, n] : pattern.counts) {
    load.add(cluster.model(kinds.classes[static_cast<std::size_t>(k)].models.front()), n);
    column.entries.emplace_back(k, n);
  }
  column.value = load.value(type.hbm_bytes);
  return column;
}

}  // namespace

Bytes column_bound(const Cluster& cluster, MipSolver& solver, Bytes known, const Assignment& found,
                   const Deadline& deadline) {
  const Bytes objective = score_of(cluster, found).objective;
  const Kinds kinds = Kinds::of(cluster);
  const bool small = std::all_of(kinds.types.begin(), kinds.types.end(), [&](const UnitType& type) {
    return Pricing::possible(kinds, type);
  });
  if (objective <= known || !small) return known;
  std::vector<double> units;
  std::vector<Generation::Row> rows;
  for (const UnitType& type : kinds.types) units.push_back(static_cast<double>(type.units.size()));
  for (const ModelClass& c : kinds.classes)
    rows.push_back({static_cast<double>(c.models.size()), static_cast<double>(c.shards)});
  Generation generation(std::move(units), std::move(rows), solver, deadline);
  for (const Pattern& pattern : patterns_of(cluster, kinds, found))  // good ones to begin with
    generation.add(column_of(cluster, kinds, pattern));
  const auto possible = [&](Bytes level) {
    std::vector<Pricing> pricing;
    for (std::size_t t = 0; t < kinds.types.size(); ++t)
      pricing.emplace_back(kinds, static_cast<int>(t), level);
    return generation.try_level(
        level, [&](int type, const std::vector<double>& prices, double rent) {
          Pricing::Found best =
              pricing[static_cast<std::size_t>(type)].best(prices, rent, kColumnsARound);
          Generation::Priced priced{.most = best.most};
          for (const Pattern& pattern : best.patterns)
            priced.columns.push_back(column_of(cluster, kinds, pattern));
          return priced;
        });
  };
  const Bytes fine = std::max<Bytes>(1, cluster.largest_hbm() / kFine);
  const Bytes first = objective - 1 - objective / kGoal;
  return least_possible(known, objective, first, fine, deadline, possible).first;
}

}  // namespace aqua::place
