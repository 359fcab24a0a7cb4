// An engine that is a function: what it sustains is known.
#pragma once

#include <algorithm>
#include <vector>

#include "profiler/make_profile.hpp"

namespace aqua::profiler::test {

class Synthetic final : public Probing {
 public:
  explicit Synthetic(double truth) : truth_(truth) {}

  Result<Probe> probe(double rate, std::uint64_t seed, bool whole) override {
    rates.push_back(rate);
    if (rates.size() == dies_at) return Error{Code::unavailable, "cannot be reached"};
    (void)whole;
    return Probe{.rate = rate,
                 .seed = seed,
                 .met = rate <= truth_,
                 .requests = 300,
                 .answered = 300,
                 .peak_bytes = rate * 4e9,
                 .client_bytes = client_share * rate * 4e9,
                 .pool_bytes = 40e9};
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
    const auto items = static_cast<double>(std::min<std::size_t>(size, 8));
    return Batch{.batch = size,
                 .throughput = items,
                 .peak_bytes = 1e9 * static_cast<double>(size),
                 .pool_bytes = 40e9};
  }

  std::vector<double> rates, bursts;
  std::size_t dies_at = 0;  // this probe fails; 0: none
  double client_share = 0.9;

 private:
  double truth_;
};

}  // namespace aqua::profiler::test
