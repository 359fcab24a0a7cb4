// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/sm_shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::sharing {
namespace {

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("sm shares: ", what)};
}

Result<void> check_curve(const SpeedCurve& curve) {
  SpeedCurve::Point before{0, 0};
  for (const SpeedCurve::Point& point : curve.points) {
    if (!(point.share > before.share) || !(point.speed >= before.speed) || !(point.speed > 0)) {
      return bad("a speed curve does not ascend");
    }
    before = point;
  }
  if (before.share != 1 || before.speed != 1) return bad("a speed curve does not end at {1, 1}");
  return {};
}

Result<void> check_load(const EngineLoad& load) {
  const auto cannot_be = [](double value) { return !std::isfinite(value) || value < 0; };
  if (cannot_be(load.kv_blocks)) return bad("kv_blocks is below 0, or no number");
  for (const PhaseLoad& phase : load.phases) {
    if (cannot_be(phase.busy)) return bad("busy is below 0, or no number");
    AQUA_TRY(check_curve(phase.speed));
  }
  return {};
}

double utilization(const EngineLoad& load, double share) {
  double sum = 0;
  for (const PhaseLoad& phase : load.phases) sum += phase.busy / speed_at(phase.speed, share);
  return sum;
}

using Units = std::vector<std::uint32_t>;

constexpr std::uint32_t kMostUnits = 1024;
constexpr double kKeepsUp = 0.8;  // utilization up to which queues stay short

// Gives `left` units more. Each goes to whoever has the highest utilization at that moment, of
// those in `among` whom more would help at all. No division has a lower highest one: utilization
// falls with each unit, so whoever ended above it would have fewer units than there, and another
// one more; but when that one got them it was below, and was not chosen.
void give_to_neediest(std::span<const EngineLoad> loads, std::span<const std::size_t> among,
                      std::uint32_t units, std::uint32_t left, Units& given) {
  for (; left > 0; --left) {
    std::size_t neediest = among.front();
    double highest = -1;
    for (const std::size_t i : among) {
      double here = utilization(loads[i], static_cast<double>(given[i]) / units);
      if (here <= utilization(loads[i], 1)) here = 0;  // more would not help
      // Among equal ones, who has fewer: engines with nothing to do stay alike.
      if (here < highest || (here == highest && given[i] >= given[neediest])) continue;
      neediest = i;
      highest = here;
    }
    ++given[neediest];
  }
}

// With which an engine keeps up; more than `units` where none are enough.
std::uint32_t units_to_keep_up(const EngineLoad& load, std::uint32_t least, std::uint32_t units) {
  std::uint32_t need = least;
  while (need <= units && utilization(load, static_cast<double>(need) / units) > kKeepsUp) ++need;
  return need;
}

// The least highest utilization, where all keep up by it. Otherwise somebody falls behind whatever
// is done: then as many engines as can be keep up, those that need the least, and the others
// divide the rest.
Units divide_units(std::span<const EngineLoad> loads, const ShareOptions& options) {
  const std::uint32_t units = options.units;
  const auto count = static_cast<std::uint32_t>(loads.size());
  const auto least = std::max(1U, static_cast<std::uint32_t>(options.least * units / count));
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  Units given(count, least);
  const std::uint32_t free = units - least * count;
  std::uint32_t left = free;
  give_to_neediest(loads, all, units, left, given);
  const auto keeps_up = [&](std::size_t i) {
    return utilization(loads[i], static_cast<double>(given[i]) / units) <= kKeepsUp;
  };
  if (std::ranges::all_of(all, keeps_up)) return given;
  Units needs;
  for (const EngineLoad& load : loads) needs.push_back(units_to_keep_up(load, least, units));
  std::ranges::stable_sort(all, {}, [&](std::size_t i) { return needs[i]; });
  given.assign(count, least);
  left = free;
  std::size_t kept = 0;
  for (; kept < all.size() && needs[all[kept]] - least <= left; ++kept) {
    given[all[kept]] = needs[all[kept]];
    left -= needs[all[kept]] - least;
  }
  give_to_neediest(loads, std::span(all).subspan(kept), units, left, given);
  return given;
}

// Whether so little piles up that engines seldom wait for each other's prompts.
bool better_in_turn(std::span<const EngineLoad> loads, bool now) {
  constexpr double kBegins = 0.2, kEnds = 0.25;  // of the time that one of them computes
  double busy = 0;
  for (const EngineLoad& load : loads) {
    for (const PhaseLoad& phase : load.phases) busy += phase.piles_up ? phase.busy : 0;
  }
  return busy < (now ? kEnds : kBegins);
}

std::ptrdiff_t keeping_up(std::span<const EngineLoad> loads, std::span<const EngineShare> shares) {
  std::ptrdiff_t count = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    count += utilization(loads[i], shares[i].share) <= kKeepsUp ? 1 : 0;
  }
  return count;
}

// Max-min fair: who wants little has it, and those who want more divide the rest evenly. What
// nobody wants is divided evenly, too; rounding goes to the first.
Units divide_blocks(std::span<const EngineLoad> loads, const ShareOptions& options) {
  const auto count = static_cast<double>(loads.size());
  const double least = options.least / count * options.kv_blocks;
  std::vector<std::size_t> order(loads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return loads[i].kv_blocks; });
  std::vector<double> given(loads.size(), 0);
  double left = options.kv_blocks;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const double even = left / static_cast<double>(order.size() - k);
    given[order[k]] = std::min(std::max(loads[order[k]].kv_blocks, least), even);
    left -= given[order[k]];
  }
  Units whole;
  std::uint32_t sum = 0;
  for (const double blocks : given) {
    whole.push_back(static_cast<std::uint32_t>(blocks + left / count));
    sum += whole.back();
  }
  whole.front() += options.kv_blocks - std::min(sum, options.kv_blocks);
  return whole;
}

}  // namespace

double speed_at(const SpeedCurve& curve, double share) {
  SpeedCurve::Point before{0, 0};
  for (const SpeedCurve::Point& point : curve.points) {
    if (share <= point.share) {
      const double part = (share - before.share) / (point.share - before.share);
      return before.speed + (point.speed - before.speed) * part;
    }
    before = point;
  }
  return 1;
}

double highest_utilization(std::span<const EngineLoad> loads, std::span<const EngineShare> shares) {
  double highest = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    highest = std::max(highest, utilization(loads[i], shares[i].share));
  }
  return highest;
}

Result<SmShares> SmShares::create(std::size_t engines, const ShareOptions& options) {
  if (options.units > kMostUnits) return bad(concat(options.units, " units, over ", kMostUnits));
  if (engines == 0 || engines > options.units) {
    return bad(concat(engines, " engines, expected 1 to ", options.units, ", the units"));
  }
  if (!(options.least >= 0 && options.least <= 1)) return bad("least is not from 0 to 1");
  if (!(options.worth_changing >= 0)) return bad("worth_changing is below 0");
  SmShares shares(options);
  const std::vector<EngineLoad> idle(engines);
  const auto units = divide_units(idle, options);
  const auto blocks = divide_blocks(idle, options);
  for (std::size_t i = 0; i < engines; ++i) {
    shares.shares_.push_back({static_cast<double>(units[i]) / options.units, blocks[i]});
  }
  return shares;
}

Result<bool> SmShares::decide(std::span<const EngineLoad> loads) {
  if (loads.size() != shares_.size()) {
    return bad(concat(loads.size(), " loads of ", shares_.size(), " engines"));
  }
  for (const EngineLoad& load : loads) AQUA_TRY(check_load(load));
  const bool took_turns = take_turns_;
  take_turns_ = better_in_turn(loads, take_turns_);
  const auto units = divide_units(loads, options_);
  const auto blocks = divide_blocks(loads, options_);
  std::vector<EngineShare> better;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    better.push_back({static_cast<double>(units[i]) / options_.units, blocks[i]});
  }
  const double now = highest_utilization(loads, shares_);
  const bool computes_better =
      keeping_up(loads, better) > keeping_up(loads, shares_) ||
      highest_utilization(loads, better) < now * (1 - options_.worth_changing);
  // Somebody has a block less than it could use, and would have a part more that is worth it.
  bool holds_better = false;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double has = shares_[i].kv_blocks, would = better[i].kv_blocks;
    holds_better =
        holds_better || (has < loads[i].kv_blocks && would > has + options_.worth_changing * has);
  }
  if (!computes_better && !holds_better) return take_turns_ != took_turns;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (!computes_better) better[i].share = shares_[i].share;
    if (!holds_better) better[i].kv_blocks = shares_[i].kv_blocks;
  }
  const bool changed = better != shares_ || take_turns_ != took_turns;
  shares_ = std::move(better);
  return changed;
}

}  // namespace aqua::sharing
