// SPDX-License-Identifier: Apache-2.0
// What the simulator says an engine sustains, and the simulator as an engine to be probed. Without
// GoogleTest: bench/profile_bench.cpp asks the same of a live engine.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/tools/profiler/replay.hpp"
#include "tests/tools/sim/traces.hpp"
#include "tools/profiler/search/probing.hpp"
#include "tools/profiler/search/rate_search.hpp"
#include "tools/sim/input/spec_json.hpp"
#include "tools/sim/report/scenario.hpp"

namespace aqua::profiler::test {

// The roofline alone: the same on every machine.
inline sim::Ground truth_ground() {
  sim::Scenario scenario;
  scenario.model = sim::load_model("llama-3-8b").value();
  scenario.server = sim::load_server("a100").value();
  return sim::resolve(scenario, {}).value();
}

// Prompts of 16 to 4,000 tokens, answers of 1 to 50: few events a second, and a rate to be found
// in the middle of 1 to 10.
inline sim::Trace truth_trace() {
  sim::Trace trace = sim::test::mixed_trace(5000);
  for (sim::TraceRequest& request : trace.requests) {
    request.prompt_tokens *= 2;
    request.output_tokens = 1 + request.output_tokens / 8;
  }
  return trace;
}

// Whether the quantile (nearest rank) lies under the limit: by sorting, and nothing of Verdict's.
inline bool under(std::vector<double> values, double limit, double quantile) {
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(quantile * static_cast<double>(values.size()) - 1e-9);
  return values.empty() || values[static_cast<std::size_t>(rank) - 1] < limit;
}

inline bool sustained(const Played& played) {
  const Sla sla;
  std::vector<double> first, gaps, last(played.work.requests.size(), -1);
  for (const Played::Token& token : played.tokens) {
    double& before = last[token.request];
    (before < 0 ? first : gaps)
        .push_back(token.at_s - (before < 0 ? played.arrival_s(token.request) : before));
    before = token.at_s;
  }
  return first.size() == last.size() && under(first, sla.ttft_s, sla.quantile) &&
         under(gaps, sla.tbt_s, sla.quantile);
}

// The highest rate that more than half of twenty seeds meet.
inline double truth(const sim::Ground& ground, const sim::Trace& trace, const RateRange& range,
                    std::uint64_t requests) {
  double best = 0;
  for (double rate = range.from; rate <= range.to + 1e-9; rate += range.step) {
    int met = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      met += sustained(play(ground, trace, rate, requests, seed)) ? 1 : 0;
    if (met > 10) best = rate;
  }
  return best;
}

class Offline final : public Probing {
 public:
  Offline(const sim::Ground& ground, const sim::Trace& trace, std::uint64_t requests)
      : ground_(ground), trace_(trace), requests_(requests) {}

  Result<Probe> probe(double rate, std::uint64_t seed, bool whole) override {
    const Played played = play(ground_, trace_, rate, requests_, seed);
    Replay replay(played, whole);
    const bool met = replay.met();
    early += replay.answered() < requests_ ? 1U : 0U;
    return Probe{.rate = rate,
                 .seed = seed,
                 .met = met,
                 .whole = whole,
                 .answered = replay.answered(),
                 .quantiles = replay.quantiles(),
                 .pool_bytes = ground_.kv_tokens * ground_.kv_bytes_per_token};
  }
  Result<Burst> burst(double, double, std::uint64_t) override {
    return Error{Code::unimplemented, ""};
  }
  Result<Batch> batch(std::size_t) override { return Error{Code::unimplemented, ""}; }

  std::size_t early = 0;  // probes that ended before their last first token

 private:
  const sim::Ground& ground_;
  const sim::Trace& trace_;
  std::uint64_t requests_;
};

}  // namespace aqua::profiler::test
