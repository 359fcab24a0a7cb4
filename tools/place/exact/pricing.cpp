// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/pricing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace aqua::place {
namespace {

constexpr int kCellsOfALevel = 2000;
constexpr int kMostCells = 12'000;  // of all that a unit could hold
constexpr int kMostGpus = 16;
constexpr double kMostWork = 1.5e8;  // items times states
constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr int kMostUses = 4;  // of a class in the patterns of one call

// The most and the least that `gpus` GPUs could hold, in models of the classes.
std::pair<double, double> extremes(const Kinds& kinds, int gpus) {
  double least = 0, most = 0;
  for (const ModelClass& c : kinds.classes) {
    least = std::min(least, static_cast<double>(c.bytes));
    most = std::max(most, static_cast<double>(c.bytes));
  }
  return {least * gpus, most * gpus};
}

// How many models of one class to count: no more than fit.
std::size_t copies(const ModelClass& c, int gpus) {
  return std::min<std::size_t>(c.models.size(), static_cast<std::size_t>(gpus / c.shards));
}

}  // namespace

bool Pricing::possible(const Kinds& kinds, const UnitType& type) {
  if (type.free > kMostGpus) return false;
  std::size_t items = 0;
  for (const ModelClass& c : kinds.classes) items += copies(c, type.free);
  const double states = (type.free + 1.0) * (type.free + 1) * kMostCells;  // that can be reached
  return static_cast<double>(items) * states < kMostWork;
}

Pricing::Pricing(const Kinds& kinds, int type, Bytes level)
    : kinds_(kinds), type_(type), level_(level) {
  const UnitType& unit = kinds.types[static_cast<std::size_t>(type)];
  gpus_ = unit.free;
  const auto [least, most] = extremes(kinds, gpus_);
  cell_bytes_ =
      std::max({1.0, static_cast<double>(level) / kCellsOfALevel, (most - least) / kMostCells});
  low_ = static_cast<int>(std::floor(least / cell_bytes_)) - gpus_ - 1;
  cells_ = static_cast<int>(std::ceil(most / cell_bytes_)) + gpus_ + 2 - low_;
  for (std::size_t k = 0; k < kinds.classes.size(); ++k) {
    const ModelClass& c = kinds.classes[k];
    const double bytes = static_cast<double>(c.bytes) * c.shards;
    const Item item{static_cast<int>(k), c.shards, c.sign() * c.shards,
                    static_cast<int>(std::lround(bytes / cell_bytes_))};
    items_.insert(items_.end(), copies(c, gpus_), item);
  }
  for (int used = 0; used <= gpus_; ++used) windows_.push_back(window(used, least, most));
}

// `least` and `most`: extremes() of all GPUs.
Pricing::Window Pricing::window(int used, double least, double most) const {
  const UnitType& unit = kinds_.types[static_cast<std::size_t>(type_)];
  const int rest = gpus_ - used;
  const double here = used, there = rest, all = std::max(gpus_, 1);
  const double base = static_cast<double>(unit.base.bytes), level = static_cast<double>(level_);
  const double low = std::max(least * here / all, -level - base - most * there / all);
  const double high = std::min(most * here / all, level - base - least * there / all);
  const int rounding = gpus_ + 2;  // each item is off by half a cell at most
  const double cells = cells_;
  const auto cell = [&](double bytes) {
    return static_cast<int>(
        std::clamp(std::floor(bytes / cell_bytes_), low_ - cells, low_ + 2 * cells));
  };
  const Bytes net = level_ / unit.hbm_bytes + rest;
  return {.first = std::max(low_, cell(low) - rounding),
          .last = std::min(low_ + cells_ - 1, cell(high) + rounding),
          .least_net = static_cast<int>(std::max<Bytes>(-used, -net - unit.base.net)),
          .most_net = static_cast<int>(std::min<Bytes>(used, net - unit.base.net))};
}

std::size_t Pricing::place(int used, int net, int cell) const {
  return (static_cast<std::size_t>(used) * static_cast<std::size_t>(2 * gpus_ + 1) +
          static_cast<std::size_t>(net + gpus_)) *
             static_cast<std::size_t>(cells_) +
         static_cast<std::size_t>(cell - low_);
}

// Each item once, as in a knapsack: states with more GPUs first, so that none is its own successor.
void Pricing::fill(const std::vector<double>& prices) {
  const std::size_t states = place(gpus_, gpus_, low_ + cells_ - 1) + 1;
  worth_.assign(states, kNone);
  taken_.assign((items_.size() * states + 63) / 64, 0);
  worth_[place(0, 0, 0)] = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    const double price = prices[static_cast<std::size_t>(item.kind)];
    for (int used = gpus_ - item.shards; used >= 0; --used) {
      const Window& here = windows_[static_cast<std::size_t>(used)];
      const int then = used + item.shards;
      const Window& there = windows_[static_cast<std::size_t>(then)];
      const int first = std::max(here.first, there.first - item.cells);
      const int last = std::min(here.last, there.last - item.cells);
      const int least_net = std::max(here.least_net, there.least_net - item.net);
      const int most_net = std::min(here.most_net, there.most_net - item.net);
      for (int net = least_net; net <= most_net && first <= last; ++net) {
        const double* from = &worth_[place(used, net, first)];
        const std::size_t to = place(used + item.shards, net + item.net, first + item.cells);
        for (int n = 0; n <= last - first; ++n) {
          const double worth = from[n] + price;
          const std::size_t state = to + static_cast<std::size_t>(n);
          if (!(worth > worth_[state])) continue;
          worth_[state] = worth;
          const std::size_t bit = i * states + state;
          taken_[bit / 64] |= std::uint64_t{1} << bit % 64;
        }
      }
    }
  }
}

std::vector<Pricing::State> Pricing::worth_more(double threshold, double& most) const {
  const UnitType& unit = kinds_.types[static_cast<std::size_t>(type_)];
  const double base = static_cast<double>(unit.base.bytes);
  // Each item is off by half a cell at most.
  const double rounding = cell_bytes_ * (gpus_ / 2.0 + 1);
  std::vector<State> states;
  most = kNone;
  for (int used = 0; used <= gpus_; ++used) {
    for (int net = -used; net <= used; ++net) {
      const std::int64_t all = unit.base.net + net;
      const Bytes part = unit.hbm_bytes * (all < 0 ? -all : all);
      if (part > level_) continue;
      const double room = static_cast<double>(level_ - part) + rounding;
      const int first = std::max(low_, static_cast<int>(std::ceil((-room - base) / cell_bytes_)));
      const int last =
          std::min(low_ + cells_ - 1, static_cast<int>(std::floor((room - base) / cell_bytes_)));
      for (int cell = first; cell <= last; ++cell) {
        const std::size_t state = place(used, net, cell);
        if (worth_[state] > threshold) states.push_back({worth_[state], state});
        most = std::max(most, worth_[state]);
      }
    }
  }
  return states;
}

Pattern Pricing::pattern_at(std::size_t state) const {
  const std::size_t states = worth_.size();
  std::map<int, int> counts;
  for (std::size_t i = items_.size(); i-- > 0;) {
    const std::size_t bit = i * states + state;
    if ((taken_[bit / 64] >> bit % 64 & 1U) == 0) continue;
    const Item& item = items_[i];
    ++counts[item.kind];
    const auto back = static_cast<std::ptrdiff_t>(place(item.shards, item.net, item.cells)) -
                      static_cast<std::ptrdiff_t>(place(0, 0, 0));
    state = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(state) - back);
  }
  return {.type = type_, .counts = {counts.begin(), counts.end()}};
}

Pricing::Found Pricing::best(const std::vector<double>& prices, double threshold,
                             std::size_t wanted) {
  fill(prices);
  Found found;
  std::vector<State> states = worth_more(threshold, found.most);
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return a.worth != b.worth ? a.worth > b.worth : a.at < b.at;
  });
  // Neighbouring cells hold nearly the same set: no class in many of them.
  std::vector<int> uses(kinds_.classes.size());
  constexpr std::size_t kMostLookedAt = 20'000;
  for (std::size_t i = 0; i < std::min(states.size(), kMostLookedAt); ++i) {
    if (found.patterns.size() == wanted) break;
    Pattern pattern = pattern_at(states[i].at);
    const bool stale = std::any_of(
        pattern.counts.begin(), pattern.counts.end(),
        [&](const auto& c) { return uses[static_cast<std::size_t>(c.first)] >= kMostUses; });
    if (stale) continue;
    for (const auto& [kind, n] : pattern.counts) ++uses[static_cast<std::size_t>(kind)];
    found.patterns.push_back(std::move(pattern));
  }
  return found;
}

}  // namespace aqua::place
