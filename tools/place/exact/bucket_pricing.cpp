// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/bucket_pricing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tools/place/model/score.hpp"

namespace aqua::place {
namespace {

constexpr double kRounding = 1e-9;     // of H: what lies so little above a level is taken for below
constexpr std::size_t kSameClass = 8;  // of the columns of one call no more than a part has a class

Bytes part_by_net(const Kinds& kinds, const Pattern& pattern) {
  const UnitType& type = kinds.types[static_cast<std::size_t>(pattern.type)];
  std::int64_t net = type.base.net;
  for (const auto& [k, n] : pattern.counts) {
    const ModelClass& kind = kinds.classes[static_cast<std::size_t>(k)];
    net += std::int64_t{kind.sign()} * kind.shards * n;
  }
  return type.hbm_bytes * std::abs(net);
}

}  // namespace

struct BucketPricing::Shares {
  std::vector<double> of;  // by entry of the pattern
  double bytes = 0;        // of the unit, in H
  double worth = 0;
};

Patterns patterns_by_net(const Kinds& kinds, Bytes highest, std::size_t most, long max_steps) {
  Bytes signs = 0;  // a model's sign counts for a byte in enumerate()
  for (const UnitType& type : kinds.types)
    signs = std::max<Bytes>(signs, type.free + std::abs(type.base.bytes));
  Patterns patterns = enumerate(kinds, highest + signs, most, max_steps);
  for (Pattern& pattern : patterns.all) pattern.value = part_by_net(kinds, pattern);
  return patterns;
}

BucketPricing::BucketPricing(const Cluster& cluster, Kinds kinds, Patterns patterns)
    : cluster_(cluster),
      kinds_(std::move(kinds)),
      scale_(static_cast<double>(cluster.largest_hbm())),
      rows_(static_cast<int>(kinds_.classes.size())),
      patterns_(kinds_.types.size()) {
  for (const ModelClass& c : kinds_.classes) {
    const double low = static_cast<double>(cluster.model(c.models.front()).bytes) * c.shards;
    const double high = static_cast<double>(cluster.model(c.models.back()).bytes) * c.shards;
    Bucket bucket{.middle = (low + high) / 2 / scale_, .half = (high - low) / 2 / scale_};
    if (high > low) bucket.row = rows_++;
    buckets_.push_back(bucket);
  }
  for (Pattern& pattern : patterns.all)
    patterns_[static_cast<std::size_t>(pattern.type)].push_back(std::move(pattern));
}

std::vector<double> BucketPricing::units() const {
  std::vector<double> units;
  for (const UnitType& type : kinds_.types) units.push_back(static_cast<double>(type.units.size()));
  return units;
}

std::vector<Generation::Row> BucketPricing::rows() const {
  std::vector<Generation::Row> rows(static_cast<std::size_t>(rows_));
  for (std::size_t k = 0; k < buckets_.size(); ++k) {
    const ModelClass& c = kinds_.classes[k];
    const double price = c.shards;
    rows[k] = {.target = static_cast<double>(c.models.size()), .most_price = price};
    if (buckets_[k].row < 0) continue;
    double shares = 0;
    for (const int m : c.models) shares += share(buckets_[k], m);
    rows[static_cast<std::size_t>(buckets_[k].row)] = {.target = shares, .most_price = price};
  }
  return rows;
}

double BucketPricing::share(const Bucket& bucket, int model) const {
  if (bucket.row < 0) return 0;
  const Model& one = cluster_.model(model);
  const double bytes = static_cast<double>(one.bytes) * one.shards / scale_;
  return std::clamp((bytes - bucket.middle) / bucket.half, -1.0, 1.0);
}

std::vector<Generation::Column> BucketPricing::columns_of(const Assignment& assignment) const {
  const std::vector<Pattern> patterns = patterns_of(cluster_, kinds_, assignment);
  std::vector<std::vector<double>> shares;
  shares.reserve(patterns.size());
  for (const Pattern& pattern : patterns) shares.emplace_back(pattern.counts.size());
  for (std::size_t k = 0; k < buckets_.size(); ++k) {
    for (const int m : kinds_.classes[k].models) {
      const auto u =
          static_cast<std::size_t>(cluster_.unit_of(assignment[static_cast<std::size_t>(m)]));
      const auto& counts = patterns[u].counts;
      const auto at = std::find_if(counts.begin(), counts.end(), [&](const auto& count) {
        return static_cast<std::size_t>(count.first) == k;
      });
      shares[u][static_cast<std::size_t>(at - counts.begin())] += share(buckets_[k], m);
    }
  }
  const std::vector<Load> loads = loads_of(cluster_, assignment);
  std::vector<Generation::Column> columns;
  for (std::size_t u = 0; u < patterns.size(); ++u)
    columns.push_back(
        column(patterns[u], shares[u], loads[u].value(cluster_.units()[u].hbm_bytes)));
  return columns;
}

// First every share as its price wants it; then, where that is too much or too little, back where a
// byte costs least.
bool BucketPricing::fit(const Pattern& pattern, double most, const std::vector<double>& prices,
                        Shares& shares) const {
  const auto price_of = [&](int k) {
    const int row = buckets_[static_cast<std::size_t>(k)].row;
    return row < 0 ? 0.0 : prices[static_cast<std::size_t>(row)];
  };
  const UnitType& type = kinds_.types[static_cast<std::size_t>(pattern.type)];
  shares.of.clear();
  shares.bytes = static_cast<double>(type.base.bytes) / scale_;
  shares.worth = 0;
  for (const auto& [k, n] : pattern.counts) {
    const Bucket& bucket = buckets_[static_cast<std::size_t>(k)];
    const double price = price_of(k);
    const double share = price > 0 ? n : price < 0 ? -n : 0;
    shares.of.push_back(share);
    shares.bytes += n * bucket.middle + share * bucket.half;
    shares.worth += n * prices[static_cast<std::size_t>(k)] + share * price;
  }
  const double way = shares.bytes > 0 ? -1 : 1;
  for (double over = std::abs(shares.bytes) - most; over > 0;) {
    std::size_t cheapest = pattern.counts.size();
    double least = 0;
    for (std::size_t i = 0; i < pattern.counts.size(); ++i) {
      const auto& [k, n] = pattern.counts[i];
      const Bucket& bucket = buckets_[static_cast<std::size_t>(k)];
      if (bucket.row < 0 || n - way * shares.of[i] <= 0) continue;
      const double cost = std::abs(price_of(k)) / bucket.half;
      if (cheapest < pattern.counts.size() && cost >= least) continue;
      cheapest = i;
      least = cost;
    }
    if (cheapest == pattern.counts.size()) return over <= kRounding;
    const auto& [k, n] = pattern.counts[cheapest];
    const Bucket& bucket = buckets_[static_cast<std::size_t>(k)];
    const double room = n - way * shares.of[cheapest];
    const bool enough = room * bucket.half >= over;
    const double by = enough ? over / bucket.half : room;
    shares.of[cheapest] = enough ? shares.of[cheapest] + way * by : way * n;
    shares.bytes += way * by * bucket.half;
    shares.worth -= by * std::abs(price_of(k));
    over = enough ? 0 : over - by * bucket.half;
  }
  return true;
}

Generation::Priced BucketPricing::best(Bytes level, int type, const std::vector<double>& prices,
                                       double rent, std::size_t wanted) const {
  const auto& patterns = patterns_[static_cast<std::size_t>(type)];
  Generation::Priced priced{.most = 0};                // of an empty unit
  std::vector<std::pair<double, std::size_t>> better;  // worth, pattern
  const auto fits = [&](const Pattern& pattern, Shares& shares) {
    const double most = static_cast<double>(level - pattern.value) / scale_ + kRounding;
    return pattern.value <= level && fit(pattern, most, prices, shares);
  };
  Shares shares;
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    if (!fits(patterns[p], shares)) continue;
    priced.most = std::max(priced.most, shares.worth);
    if (shares.worth > rent) better.emplace_back(-shares.worth, p);
  }
  std::sort(better.begin(), better.end());
  std::vector<std::size_t> uses(buckets_.size());
  for (const auto& [worth, p] : better) {
    if (priced.columns.size() == wanted) break;
    const auto used = [&](const auto& count) {
      return uses[static_cast<std::size_t>(count.first)] >= wanted / kSameClass;
    };
    const auto& counts = patterns[p].counts;
    if (std::any_of(counts.begin(), counts.end(), used)) continue;
    for (const auto& count : counts) ++uses[static_cast<std::size_t>(count.first)];
    fits(patterns[p], shares);
    const auto bytes = static_cast<Bytes>(std::abs(shares.bytes) * scale_);
    priced.columns.push_back(
        column(patterns[p], shares.of, std::min(level, patterns[p].value + bytes)));
  }
  return priced;
}

Generation::Column BucketPricing::column(const Pattern& pattern, const std::vector<double>& shares,
                                         Bytes value) const {
  Generation::Column column{.type = pattern.type, .value = value};
  for (const auto& [k, n] : pattern.counts) column.entries.emplace_back(k, n);
  for (std::size_t i = 0; i < pattern.counts.size(); ++i) {
    const int row = buckets_[static_cast<std::size_t>(pattern.counts[i].first)].row;
    if (row >= 0 && shares[i] != 0) column.entries.emplace_back(row, shares[i]);
  }
  return column;
}

Pattern BucketPricing::pattern_of(const Generation::Column& column) const {
  Pattern pattern{.type = column.type, .counts = {}, .value = column.value};
  for (const auto& [row, amount] : column.entries)
    if (static_cast<std::size_t>(row) < buckets_.size())
      pattern.counts.emplace_back(row, static_cast<int>(amount));
  return pattern;
}

double BucketPricing::share_of(const Generation::Column& column, int of_class) const {
  const int wanted = buckets_[static_cast<std::size_t>(of_class)].row;
  for (const auto& [row, amount] : column.entries)
    if (row == wanted) return amount;
  return 0;
}

}  // namespace aqua::place
