// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "trace.hpp"

namespace aqua::example {
namespace {

// The standard fixes the generator's numbers but not what its distributions make of them;
// drawn by hand, a seed means the same trace with every library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(seed) {}

  double exponential(double mean) { return -mean * std::log(uniform()); }
  std::uint32_t tokens(const TokenShape& shape) {
    const double normal = std::sqrt(-2 * std::log(uniform())) *
                          std::cos(2 * std::numbers::pi * uniform());  // Box and Muller
    const double mu = std::log(shape.mean) - shape.sigma * shape.sigma / 2;
    const double length = std::round(std::exp(mu + shape.sigma * normal));
    return static_cast<std::uint32_t>(
        std::clamp(length, static_cast<double>(shape.min), static_cast<double>(shape.max)));
  }

 private:
  double uniform() {  // in (0, 1]
    return static_cast<double>((rng_() >> 11) + 1) * 0x1p-53;
  }
  std::mt19937_64 rng_;
};

bool positive(double x) {
  return std::isfinite(x) && x > 0;
}
bool sound(const TokenShape& s) {
  return positive(s.mean) && std::isfinite(s.sigma) && s.sigma >= 0 && s.min <= s.max;
}

}  // namespace

Result<std::vector<TraceRequest>> make_trace(const TraceShape& shape) {
  // One request a day is the least: slower ones would overflow the arrivals of long traces.
  if (!positive(shape.requests_per_second) || shape.requests_per_second < 1.0 / 86'400 ||
      shape.requests > TraceLimits{}.max_requests || !sound(shape.prompt) || !sound(shape.output)) {
    return Error{Code::invalid_argument,
                 "trace: a shape needs a rate of one request a day or more, at most 10 million "
                 "requests, positive means and min <= max"};
  }
  Draw draw(shape.seed);
  std::vector<TraceRequest> requests;
  requests.reserve(shape.requests);
  double seconds = 0;
  for (std::size_t i = 0; i < shape.requests; ++i) {
    if (i > 0) seconds += draw.exponential(1 / shape.requests_per_second);
    const std::chrono::microseconds arrival{std::llround(seconds * 1e6)};
    const std::uint32_t prompt = draw.tokens(shape.prompt);
    requests.push_back(TraceRequest{arrival, prompt, draw.tokens(shape.output)});
  }
  return requests;
}

}  // namespace aqua::example
