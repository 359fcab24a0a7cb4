// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/generation.hpp"

#include <algorithm>
#include <optional>

namespace aqua::place {
namespace {

constexpr double kTiny = 1e-7;       // of a solver's prices
constexpr double kUncovered = 1e-4;  // of a row: less is taken for none
// Prices swing from program to program. Columns are sought near the prices of the best proof so
// far: these change less, and prove more.
constexpr double kTowardsBest = 0.6;

std::vector<double> between(const std::vector<double>& a, const std::vector<double>& b,
                            double share) {
  std::vector<double> mixed(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) mixed[i] = share * a[i] + (1 - share) * b[i];
  return mixed;
}

}  // namespace

MipStatus Generation::try_level(Bytes level, const Pricer& pricer) {
  std::set<std::size_t> here;  // columns above the level that a pricer's rounding let in
  std::optional<Prices> best;
  double most_proven = 0;
  while (!deadline_.over()) {
    const MipOutcome outcome = solver_.solve(program(level, here), deadline_);
    if (outcome.status != MipStatus::optimal || outcome.duals.empty()) return MipStatus::unknown;
    if (outcome.cost < kUncovered) {
      parts_.clear();
      for (std::size_t i = 0; i < shown_.size(); ++i)
        if (outcome.values[i] > 0) parts_.emplace_back(shown_[i], outcome.values[i]);
      return MipStatus::optimal;
    }
    const Prices exact = prices_of(outcome);
    bool news = false;
    for (const double share : {kTowardsBest, 0.0}) {
      if (share > 0 && !best) continue;
      Prices prices = exact;
      if (share > 0) {
        prices.of_rows = between(best->of_rows, exact.of_rows, share);
        prices.rents = between(best->rents, exact.rents, share);
      }
      const double proven = price(level, prices, pricer, here, news);
      if (proven > kUncovered) return MipStatus::infeasible;
      if (!best || proven > most_proven) {
        most_proven = proven;
        best = std::move(prices);
      }
      if (news) break;
    }
    if (!news) return MipStatus::unknown;
  }
  return MipStatus::unknown;
}

std::vector<Generation::Part> Generation::parts() const {
  std::vector<Part> parts;
  for (const auto& [column, units] : parts_) parts.push_back({&columns_[column], units});
  return parts;
}

std::size_t Generation::place_of(Column column) {
  const auto [at, fresh] = places_.emplace(std::pair(column.type, column.entries), columns_.size());
  if (fresh) columns_.push_back(std::move(column));
  return at->second;
}

// Least of all that is not covered, or covered too often: behind the columns one for too little
// and one for too much of each row.
LinearProgram Generation::program(Bytes level, const std::set<std::size_t>& here) {
  LinearProgram all;
  const int types = static_cast<int>(units_.size());
  for (const double units : units_) all.rows.push_back({units, units});
  for (const Row& row : rows_) all.rows.push_back({row.target, row.target});
  shown_.clear();
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].value > level && !here.contains(c)) continue;
    shown_.push_back(c);
    LinearProgram::Column column{.integer = false, .entries = {{columns_[c].type, 1}}};
    for (const auto& [row, amount] : columns_[c].entries)
      column.entries.emplace_back(types + row, amount);
    all.columns.push_back(std::move(column));
  }
  for (int t = 0; t < types; ++t)  // an empty unit
    all.columns.push_back({.integer = false, .entries = {{t, 1}}});
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const int row = types + static_cast<int>(r);
    const double cost = rows_[r].most_price;
    all.columns.push_back({.cost = cost, .integer = false, .entries = {{row, 1}}});
    all.columns.push_back({.cost = cost, .integer = false, .entries = {{row, -1}}});
  }
  return all;
}

Generation::Prices Generation::prices_of(const MipOutcome& outcome) const {
  Prices prices;
  for (std::size_t t = 0; t < units_.size(); ++t) prices.rents.push_back(-outcome.duals[t]);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const double most = rows_[r].most_price;
    prices.of_rows.push_back(std::clamp(outcome.duals[units_.size() + r], -most, most));
  }
  return prices;
}

// By weak duality: what covers everything is worth the targets; no unit covers more than `most`.
double Generation::price(Bytes level, const Prices& prices, const Pricer& pricer,
                         std::set<std::size_t>& here, bool& news) {
  double uncovered = 0;
  for (std::size_t r = 0; r < rows_.size(); ++r) uncovered += rows_[r].target * prices.of_rows[r];
  for (std::size_t t = 0; t < units_.size(); ++t) {
    Priced found = pricer(static_cast<int>(t), prices.of_rows, prices.rents[t] + kTiny);
    uncovered -= std::max(0.0, found.most) * units_[t];
    for (Column& column : found.columns) {
      const std::size_t known = columns_.size();
      const std::size_t place = place_of(std::move(column));
      const bool let_in = columns_[place].value > level && here.insert(place).second;
      news = news || let_in || place == known;
    }
  }
  return uncovered;
}

std::pair<Bytes, Bytes> least_possible(Bytes low, Bytes high, Bytes first, Bytes fine,
                                       const Deadline& deadline,
                                       const std::function<MipStatus(Bytes)>& possible) {
  Bytes level = std::clamp(first, low, high);
  while (low < high && !deadline.over()) {
    const MipStatus status = possible(level);
    if (status == MipStatus::infeasible) {
      low = level + 1;
    } else if (status == MipStatus::unknown && deadline.over()) {
      break;
    } else {
      high = level;
    }
    if (high - low <= fine) break;
    level = low + (high - low) / 2;
  }
  return {low, high};
}

}  // namespace aqua::place
