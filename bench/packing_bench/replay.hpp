// SPDX-License-Identifier: Apache-2.0
// Replays requests over a fleet in epochs of a second, with moves that cost nothing and are over at
// once: how many engines a policy needs, and what it moves for that. Every request gets 25 tokens a
// second, wherever it is, and also while it waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aqua/packing/options.hpp"

namespace aqua::bench {

struct TraceRequest {
  double second = 0;
  std::uint64_t prompt = 0, output = 0;
};

// Azure's conversations of 2023, where AQUA_DATA has them: empty without.
std::vector<TraceRequest> azure_conversations();

// What the policies are compared on; empty where AQUA_DATA names no folder with the trace.
struct PackingLoad {
  std::string name;
  std::vector<TraceRequest> trace;
};
std::vector<PackingLoad> packing_loads();

// Poisson arrivals of `rate` a second for `seconds`, with lengths of the trace and outputs times so
// much.
std::vector<TraceRequest> poisson(const std::vector<TraceRequest>& lengths, double rate,
                                  double seconds, std::uint64_t outputs, std::uint64_t seed);

struct Replayed {
  double engines = 0;      // mean, from a tenth of the trace to its last arrival
  std::uint64_t peak = 0;  // engines
  double bound = 0;        // mean of the lower bounds, over the same epochs
  double utilization = 0;  // mean share of the engines' capacity that is held, over the same epochs
  double moves_per_second = 0, moved_tokens_per_second = 0;  // over all epochs
  double preemptions_per_request = 0;
  std::uint64_t epochs = 0, certified = 0;  // within, or with the properties
};

struct ReplayAs {
  std::uint64_t capacity = 15'500;
  bool event_by_event = false;  // a plan after each arrival, end and growth, not one a second
};

Replayed replay(const std::string& policy, const std::vector<TraceRequest>& trace,
                const packing::PackerOptions& options, const ReplayAs& as = {});

}  // namespace aqua::bench
