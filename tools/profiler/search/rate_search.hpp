// SPDX-License-Identifier: Apache-2.0
// RateSearch: the highest rate of a grid that meets the SLA (Aqua, section 4.1): by halving the
// range, then one step at a time around what that found, since each probe is a matter of chance.
//
// The second part confirms, by whole probes with other arrivals: first the answer itself, since its
// memory is what counts, then the rate above it, then the answer again, each until two more probes
// say one thing than the other, or three are made. A rate holds when more probes met than missed
// it. Where the answer no longer holds, the rate below it is asked: what was never asked is
// unknown, not missed. With g rates there are at most 2 * ceil(log2(g)) probes, but 4.
//
// Threads: not thread-safe. Pure: the same outcomes give the same questions, so a search is
//          resumed by telling it what was found.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::profiler {

struct RateRange {
  double from = 1;  // requests a second
  double to = 10;
  double step = 0.5;
};

class RateSearch {
 public:
  // invalid_argument when the range is empty, not finite, or has more than 10,000 rates.
  [[nodiscard]] static Result<RateSearch> create(const RateRange& range);

  // What to try next; none when the search is over.
  [[nodiscard]] std::optional<double> next() const;
  // The range is halved to a single rate: what is asked now confirms.
  [[nodiscard]] bool confirming() const noexcept { return low_ >= high_; }
  // Notes whether the rate that next() names was met.
  void told(bool met);

  // The answer, or what it is so far; none when no rate holds.
  [[nodiscard]] std::optional<double> best() const;
  // A whole probe met the answer, and nothing below it is unknown that would have to be asked.
  [[nodiscard]] bool confirmed() const;
  // The lowest rate was asked, and does not hold.
  [[nodiscard]] bool none_holds() const { return tally_.front().denies(); }
  [[nodiscard]] bool at_top() const;  // the range ends at the answer: it may be too low
  [[nodiscard]] std::size_t rates() const noexcept { return tally_.size(); }
  [[nodiscard]] std::size_t probes() const noexcept { return probes_; }
  [[nodiscard]] std::size_t most_probes() const noexcept { return most_; }

 private:
  struct Tally {
    int met = 0, missed = 0;
    bool whole = false;  // met, to the load's end
    [[nodiscard]] bool holds() const noexcept { return met > missed; }
    [[nodiscard]] bool denies() const noexcept { return missed > 0 && !holds(); }
    [[nodiscard]] bool settled() const noexcept {
      return met - missed > 1 || missed - met > 1 || met + missed > 2;
    }
  };

  RateSearch(const RateRange& range, std::size_t rates);
  [[nodiscard]] double rate(std::size_t index) const;
  [[nodiscard]] std::optional<std::size_t> wanted() const;
  [[nodiscard]] std::optional<std::size_t> unsettled() const;
  void walk();

  RateRange range_;
  std::vector<Tally> tally_;
  // Halving: all below low_ are met, all from high_ on missed. Then both are one above the answer.
  std::size_t low_ = 0, high_;
  std::size_t probes_ = 0, most_;
};

}  // namespace aqua::profiler
