#include "profiler/rate_search.hpp"

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
      most_(std::max<std::size_t>(2, 2 * static_cast<std::size_t>(std::bit_width(rates - 1)))) {}

double RateSearch::rate(std::size_t index) const {
  return range_.from + static_cast<double>(index) * range_.step;
}

std::size_t RateSearch::highest() const {
  for (std::size_t i = tally_.size(); i > 0; --i) {
    if (tally_[i - 1].holds()) return i;
  }
  return 0;
}

std::optional<std::size_t> RateSearch::wanted() const {
  if (probes_ >= most_) return std::nullopt;
  if (low_ < high_) return low_ + (high_ - low_) / 2;
  const std::size_t above = highest();
  if (above < tally_.size() && !tally_[above].settled()) return above;
  if (above > 0 && !tally_[above - 1].settled()) return above - 1;
  return std::nullopt;
}

std::optional<double> RateSearch::next() const {
  const auto index = wanted();
  return index ? std::optional(rate(*index)) : std::nullopt;
}

void RateSearch::told(bool met) {
  const auto index = wanted();
  if (!index) return;
  ++probes_;
  (met ? tally_[*index].met : tally_[*index].missed)++;
  if (low_ >= high_) return;
  (met ? low_ : high_) = met ? *index + 1 : *index;
}

std::optional<double> RateSearch::best() const {
  const std::size_t above = highest();
  return above > 0 ? std::optional(rate(above - 1)) : std::nullopt;
}

bool RateSearch::at_top() const {
  return tally_.back().holds();
}

}  // namespace aqua::profiler
