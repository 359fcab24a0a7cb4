// SPDX-License-Identifier: Apache-2.0
// An engine that is a function: what it sustains is known.
#pragma once

#include <algorithm>
#include <vector>

#include "tools/profiler/search/make_profile.hpp"

namespace aqua::profiler::test {

class Synthetic final : public Probing {
 public:
  explicit Synthetic(double truth) : truth_(truth) {}

  Result<Probe> probe(double rate, std::uint64_t seed, bool whole) override {
    rates.push_back(rate);
    if (rates.size() == dies_at) return Error{Code::unavailable, "cannot be reached"};
    return Probe{.rate = rate,
                 .seed = seed,
                 .met = rate <= truth_ && (changes_at == 0 || rates.size() <= changes_at),
                 .whole = whole,
                 .requests = 300,
                 .answered = 300,
                 .peak_bytes = rate * (whole ? 4e9 : 1e9),  // of half a load, less
                 .client_bytes = client_share * rate * 4e9,
                 .pool_bytes = 40e9,
                 .lateness_s = whole ? lateness_s : 10 * lateness_s};
  }
  Result<Burst> burst(double rate, double factor, std::uint64_t) override {
    bursts.push_back(factor);
    const double wanted = rate * factor * 4e9;
    return Burst{.factor = factor,
                 .rate = rate,
                 .wanted_bytes = wanted,
                 .swap_bytes = std::max(0.0, wanted - 40e9)};
  }
  Result<Batch> batch(std::size_t size) override {
    // The last doubling gains a little, and not enough.
    const double items = size > 8 ? 8.4 : static_cast<double>(size);
    return Batch{.batch = size,
                 .throughput = items,
                 .peak_bytes = 1e9 * static_cast<double>(size),
                 .pool_bytes = 40e9};
  }

  std::vector<double> rates, bursts;
  std::size_t dies_at = 0;     // this probe fails; 0: none
  std::size_t changes_at = 0;  // after so many probes it meets nothing; 0: never
  double client_share = 0.9;
  double lateness_s = 0;  // of whole loads; of others ten times as much

 private:
  double truth_;
};

}  // namespace aqua::profiler::test
