// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/workload.hpp"

#include <algorithm>
#include <numeric>

#include "base/concat.hpp"
#include "base/try.hpp"
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

Result<void> comes_in_time(double last_s) {
  if (last_s <= kMostSeconds) return {};
  return Error{Code::invalid_argument,
               concat("requests come over ", last_s, " s: at most ", kMostSeconds,
                      "; let fewer come (--requests), or faster (--rate, of a trace --speed)")};
}

Result<void> wait_for_next(Picos& now, double gap_s) {
  AQUA_TRY(comes_in_time(seconds(now) + gap_s));
  now += picos(gap_s);
  return {};
}

Result<Workload> tiled(const Trace& trace, std::uint64_t count, double speed) {
  Workload work{.requests = {}, .hashes = hashes_of(trace)};
  const std::size_t n = trace.requests.size();
  if (count == 0) count = n;
  const Picos last = trace.requests.back().arrival;
  const Picos distance = n > 1 ? last / static_cast<Picos>(n - 1) : kPicosPerSecond;
  const std::uint64_t repetitions = (count - 1) / n;
  const double last_s = (seconds(last) + seconds(distance)) * static_cast<double>(repetitions) +
                        seconds(trace.requests[(count - 1) % n].arrival);
  AQUA_TRY(comes_in_time(std::max(last_s, last_s / speed)));
  const Picos period = repetitions > 0 ? last + distance : 0;
  work.requests.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    TraceRequest request = trace.requests[i % n];
    request.arrival += period * static_cast<Picos>(i / n);
    if (speed != 1) request.arrival = picos(seconds(request.arrival) / speed);
    work.requests.push_back(request);
  }
  return work;
}

Result<Workload> poisson(const Trace& trace, const PoissonShape& shape, std::uint64_t seed) {
  AQUA_TRY(comes_in_time(static_cast<double>(shape.requests) / shape.per_second));
  Random random(seed);
  Lengths lengths(trace, random);
  Workload work{.requests = {}, .hashes = hashes_of(trace)};
  Picos now = 0;
  for (std::uint64_t i = 0; i < shape.requests; ++i) {
    if (i > 0) AQUA_TRY(wait_for_next(now, random.exponential(1 / shape.per_second)));
    work.requests.push_back(lengths.next(now));
  }
  return work;
}

Result<Workload> burst(const Trace& trace, const BurstShape& shape, std::uint64_t seed) {
  Random random(seed);
  Lengths lengths(trace, random);
  Workload work{.requests = {}, .hashes = hashes_of(trace)};
  Picos now = 0;
  const auto wait = [&](double rate) { return wait_for_next(now, random.exponential(1 / rate)); };
  for (std::uint64_t i = 0; i < shape.quiet_prompts; ++i) {
    work.requests.push_back(lengths.next(now));
    AQUA_TRY(wait(shape.per_second));
  }
  AQUA_TRY(comes_in_time(seconds(now) + shape.seconds));
  const Picos end = now + picos(shape.seconds);
  std::uint64_t in_burst = 0;
  while (now < end) {
    work.requests.push_back(lengths.next(now));
    ++in_burst;
    AQUA_TRY(wait(shape.per_second * shape.factor));
  }
  const double stable = static_cast<double>(in_burst) / shape.factor;
  const auto added = static_cast<std::uint64_t>(static_cast<double>(in_burst) - stable);
  for (; work.redirected < added; ++work.redirected) AQUA_TRY(wait(shape.per_second));
  for (std::uint64_t i = 0; i < shape.after; ++i) {
    if (i > 0) AQUA_TRY(wait(shape.per_second));
    work.requests.push_back(lengths.next(now));
  }
  return work;
}

Result<Workload> prefix_caching(const Trace& trace, const PrefixShape& shape, std::uint64_t seed) {
  AQUA_TRY(comes_in_time(static_cast<double>(shape.requests) / shape.per_second));
  Random random(seed);
  Lengths lengths(trace, random);
  // In whole blocks: all but the suffix is shared.
  const std::uint32_t alike = shape.prompt_tokens - shape.suffix_tokens;
  Workload work{.requests = {}, .hashes = {}, .hash_block_tokens = std::gcd(alike, kMooncakeBlock)};
  const std::uint32_t shared = alike / work.hash_block_tokens;
  for (std::uint32_t i = 0; i < shared; ++i) work.hashes.push_back({.high = 1, .low = i});
  Picos now = 0;
  for (std::uint64_t i = 0; i < shape.requests; ++i) {
    if (i > 0) AQUA_TRY(wait_for_next(now, random.exponential(1 / shape.per_second)));
    TraceRequest request = lengths.next(now);
    request.hash_begin = request.hash_count = 0;
    if (i % shape.every == 0) {
      request.prompt_tokens = shape.prompt_tokens;
      request.hash_count = shared;
    }
    work.requests.push_back(request);
  }
  return work;
}

}  // namespace aqua::sim
