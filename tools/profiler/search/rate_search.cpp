// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/search/rate_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/concat.hpp"

namespace aqua::profiler {
namespace {

constexpr double kMostRates = 10'000;

}  // namespace

Result<RateSearch> RateSearch::create(const RateRange& range) {
  const bool finite =
      std::isfinite(range.from) && std::isfinite(range.to) && std::isfinite(range.step);
  if (!finite || range.from <= 0 || range.to < range.from || range.step <= 0) {
    return Error{Code::invalid_argument,
                 concat("rates ", range.from, " to ", range.to, " by ", range.step,
                        ": expected 0 < from <= to and a step above 0")};
  }
  // A trifle more, for steps that binary fractions do not hit.
  const double rates = std::floor((range.to - range.from) / range.step + 1e-6) + 1;
  if (rates > kMostRates) {
    return Error{Code::invalid_argument,
                 concat("rates ", range.from, " to ", range.to, " by ", range.step, ": these are ",
                        rates, ", at most ", kMostRates, " are looked at")};
  }
  return RateSearch(range, static_cast<std::size_t>(rates));
}

RateSearch::RateSearch(const RateRange& range, std::size_t rates)
    : range_(range),
      tally_(rates),
      high_(rates),
      most_(std::max<std::size_t>(4, 2 * static_cast<std::size_t>(std::bit_width(rates - 1)))) {}

double RateSearch::rate(std::size_t index) const {
  return range_.from + static_cast<double>(index) * range_.step;
}

// A last probe never puts in doubt what is confirmed: nothing could confirm what then is the
// answer.
std::optional<std::size_t> RateSearch::unsettled() const {
  if (low_ > 0 && !tally_[low_ - 1].whole) return low_ - 1;
  if (low_ < tally_.size() && !tally_[low_].settled()) return low_;
  const bool last = probes_ + 1 == most_;
  if (low_ > 0 && !tally_[low_ - 1].settled() && !last) return low_ - 1;
  return std::nullopt;
}

std::optional<std::size_t> RateSearch::wanted() const {
  if (probes_ >= most_) return std::nullopt;
  return confirming() ? unsettled() : std::optional(low_ + (high_ - low_) / 2);
}

std::optional<double> RateSearch::next() const {
  const auto index = wanted();
  return index ? std::optional(rate(*index)) : std::nullopt;
}

// To where the answer holds and the rate above it does not, as far as either was asked.
void RateSearch::walk() {
  while (low_ < tally_.size() && tally_[low_].holds()) ++low_;
  while (low_ > 0 && tally_[low_ - 1].denies()) --low_;
  high_ = low_;
}

void RateSearch::told(bool met) {
  const auto index = wanted();
  if (!index) return;
  ++probes_;
  Tally& tally = tally_[*index];
  (met ? tally.met : tally.missed)++;
  if (confirming()) {
    tally.whole = tally.whole || met;
    return walk();
  }
  (met ? low_ : high_) = met ? *index + 1 : *index;
}

std::optional<double> RateSearch::best() const {
  for (std::size_t above = low_; above > 0; --above) {
    if (tally_[above - 1].holds()) return rate(above - 1);
  }
  return std::nullopt;
}

bool RateSearch::confirmed() const {
  return confirming() && low_ > 0 && tally_[low_ - 1].holds() && tally_[low_ - 1].whole;
}

bool RateSearch::at_top() const {
  return tally_.back().holds();
}

}  // namespace aqua::profiler
