// What the simulator says an engine sustains, and the simulator as an engine to be probed. Without
// GoogleTest: bench/profile_bench.cpp asks the same of a live engine.
#pragma once

#include <algorithm>

#include "profiler/load.hpp"
#include "profiler/probing.hpp"
#include "profiler/rate_search.hpp"
#include "sim/scenario.hpp"
#include "sim/spec_json.hpp"
#include "sim/traces.hpp"

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
  for (sim::Request& request : trace.requests) {
    request.prompt_tokens *= 2;
    request.output_tokens = 1 + request.output_tokens / 8;
  }
  return trace;
}

// All that a client sees of a load, played through the simulator. Of the gaps between an answer's
// tokens the longest counts; the others are not longer.
inline Verdict judged(const sim::Ground& ground, const sim::Trace& trace, double rate,
                      std::uint64_t requests, std::uint64_t seed) {
  const sim::Workload work = sim::poisson(trace, {.requests = requests, .per_second = rate}, seed);
  const sim::Outcome outcome =
      sim::simulate(ground, sim::parse_policy("fcfs").value(), work).value();
  Verdict verdict({}, requests, requests, true);
  std::vector<sim::RequestOutcome> order = outcome.requests;
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first_token < b.first_token; });
  for (const sim::RequestOutcome& request : order) {
    verdict.first_token(request.ttft());
    verdict.gap(sim::seconds(request.longest_gap));
  }
  return verdict;
}

// The highest rate that more than half of twenty seeds meet.
inline double truth(const sim::Ground& ground, const sim::Trace& trace, const RateRange& range,
                    std::uint64_t requests) {
  double best = 0;
  for (double rate = range.from; rate <= range.to + 1e-9; rate += range.step) {
    int met = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      met += judged(ground, trace, rate, requests, seed).final() == Standing::met ? 1 : 0;
    if (met > 10) best = rate;
  }
  return best;
}

class Offline final : public Probing {
 public:
  Offline(const sim::Ground& ground, const sim::Trace& trace, std::uint64_t requests)
      : ground_(ground), trace_(trace), requests_(requests) {}

  Result<Probe> probe(double rate, std::uint64_t seed, bool whole) override {
    Verdict verdict = judged(ground_, trace_, rate, requests_, seed);
    return Probe{.rate = rate,
                 .seed = seed,
                 .met = verdict.final() == Standing::met,
                 .whole = whole,
                 .quantiles = verdict.quantiles(),
                 .pool_bytes = ground_.kv_tokens * ground_.kv_bytes_per_token};
  }
  Result<Burst> burst(double, double, std::uint64_t) override {
    return Error{Code::unimplemented, ""};
  }
  Result<Batch> batch(std::size_t) override { return Error{Code::unimplemented, ""}; }

 private:
  const sim::Ground& ground_;
  const sim::Trace& trace_;
  std::uint64_t requests_;
};

}  // namespace aqua::profiler::test
