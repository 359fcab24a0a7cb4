// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/workload.hpp"

#include <numeric>

#include "tools/sim/engine/random.hpp"

namespace aqua::sim {
namespace {

// Takes the trace's lengths one after another, from a place that the seed chooses.
class Lengths {
 public:
  Lengths(const Trace& trace, Random& random)
      : trace_(trace), at_(random.below(trace.requests.size())) {}
  TraceRequest next(Picos arrival) {
    TraceRequest request = trace_.requests[at_];
    at_ = (at_ + 1) % trace_.requests.size();
    request.arrival = arrival;
    return request;
  }

 private:
  const Trace& trace_;
  std::size_t at_;
};

std::vector<prefix::BlockHash> hashes_of(const Trace& trace) {
  std::vector<prefix::BlockHash> hashes;
  hashes.reserve(trace.hashes.size());
  for (const std::uint64_t id : trace.hashes) hashes.push_back({.high = 0, .low = id});
  return hashes;
}

}  // namespace

Workload tiled(const Trace& trace, std::uint64_t count, double speed) {
  Workload work{.requests = {}, .hashes = hashes_of(trace)};
  const std::size_t n = trace.requests.size();
  if (count == 0) count = n;
  work.requests.reserve(count);
  const Picos last = trace.requests.back().arrival;
  const Picos period = last + (n > 1 ? last / static_cast<Picos>(n - 1) : kPicosPerSecond);
  for (std::uint64_t i = 0; i < count; ++i) {
    TraceRequest request = trace.requests[i % n];
    request.arrival += period * static_cast<Picos>(i / n);
    if (speed != 1) request.arrival = picos(seconds(request.arrival) / speed);
    work.requests.push_back(request);
  }
  return work;
}

Workload poisson(const Trace& trace, const PoissonShape& shape, std::uint64_t seed) {
  Random random(seed);
  Lengths lengths(trace, random);
  Workload work{.requests = {}, .hashes = hashes_of(trace)};
  Picos now = 0;
  for (std::uint64_t i = 0; i < shape.requests; ++i) {
    work.requests.push_back(lengths.next(now));
    now += picos(random.exponential(1 / shape.per_second));
  }
  return work;
}

Workload burst(const Trace& trace, const BurstShape& shape, std::uint64_t seed) {
  Random random(seed);
  Lengths lengths(trace, random);
  Workload work{.requests = {}, .hashes = hashes_of(trace)};
  Picos now = 0;
  const auto wait = [&](double rate) { now += picos(random.exponential(1 / rate)); };
  for (std::uint64_t i = 0; i < shape.quiet_prompts; ++i, wait(shape.per_second)) {
    work.requests.push_back(lengths.next(now));
  }
  const Picos end = now + picos(shape.seconds);
  std::uint64_t in_burst = 0;
  while (now < end) {
    work.requests.push_back(lengths.next(now));
    ++in_burst;
    wait(shape.per_second * shape.factor);
  }
  const double stable = static_cast<double>(in_burst) / shape.factor;
  const auto added = static_cast<std::uint64_t>(static_cast<double>(in_burst) - stable);
  for (; work.redirected < added; ++work.redirected) wait(shape.per_second);
  for (std::uint64_t i = 0; i < shape.after; ++i, wait(shape.per_second)) {
    work.requests.push_back(lengths.next(now));
  }
  return work;
}

Workload prefix_caching(const Trace& trace, const PrefixShape& shape, std::uint64_t seed) {
  Random random(seed);
  Lengths lengths(trace, random);
  // In whole blocks: all but the suffix is shared.
  const std::uint32_t alike = shape.prompt_tokens - shape.suffix_tokens;
  Workload work{.requests = {}, .hashes = {}, .hash_block_tokens = std::gcd(alike, kMooncakeBlock)};
  const std::uint32_t shared = alike / work.hash_block_tokens;
  for (std::uint32_t i = 0; i < shared; ++i) work.hashes.push_back({.high = 1, .low = i});
  Picos now = 0;
  for (std::uint64_t i = 0; i < shape.requests; ++i) {
    TraceRequest request = lengths.next(now);
    request.hash_begin = request.hash_count = 0;
    if (i % shape.every == 0) {
      request.prompt_tokens = shape.prompt_tokens;
      request.hash_count = shared;
    }
    work.requests.push_back(request);
    now += picos(random.exponential(1 / shape.per_second));
  }
  return work;
}

}  // namespace aqua::sim
