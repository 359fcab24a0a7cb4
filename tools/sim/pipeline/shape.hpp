// SPDX-License-Identifier: Apache-2.0
// Pipelines that serve one model, and how: what is given to the simulator of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aqua/kv_stream/plan.hpp"
#include "aqua/kv_stream/swap.hpp"
#include "aqua/result.hpp"
#include "tools/sim/engine/time.hpp"
#include "tools/sim/input/trace.hpp"
#include "tools/sim/pipeline/pass.hpp"

namespace aqua::sim {

// Pipelines that are alike.
struct PipelineSide {
  std::uint32_t pipelines = 0, depth = 0, microbatch = 0;
};

// When the requests of a microbatch end at different times: all stay until the longest has ended,
// or whoever ends is replaced at once.
enum class Ending : std::uint8_t { together, refill };

// What a pipeline does once a stage that failed is back. The requests that were under way
//   scratch:         begin anew;
//   reprefill:       have the KV of prompt and answer so far computed once more, in one pass;
//   restore:         go on where they were: each stage's KV has a replica on the next machine;
//   restore_standby: the same, on a machine that stands by with the weights.
enum class Recovery : std::uint8_t { scratch, reprefill, restore, restore_standby };

struct RecoveryTimes {
  Picos detection = 0;  // until the failure is known
  Picos restart = 0;    // of machine and processes
  Picos weights = 0;    // until a stage's are loaded
};

struct Outage {
  Picos at = 0;
  std::uint32_t pipeline = 0, stage = 0;
  friend bool operator==(const Outage&, const Outage&) = default;
};

// Failures by chance, of each machine for itself.
struct OutageRate {
  double mean_seconds = 0;  // between two failures of one machine
  std::uint64_t seed = 0;
};

// The network between machines: each has a way out and a way in, which whatever it sends and
// receives shares.
struct MachineLinks {
  double bytes_per_second = 0;  // each way
  Picos latency = 0;
  double activation_bytes = 0;  // of a token, between two stages
};

// Where pipelines that generate tokens keep the KV of microbatches, of a machine each.
struct MicrobatchSwaps {
  kv_stream::AwayMemory memory{};
  kv_stream::AwayPlaces places{};  // of the microbatches of a pipeline
  std::uint64_t host_bytes = 0;    // that they may take of a host's, at most
};

struct PipelineShape {
  // No prompt pipelines: those of `token` compute prompts too.
  PipelineSide prompt{}, token{};
  std::uint32_t layers = 0;
  Ending ending = Ending::together;
  std::uint32_t chunk_tokens = 0;  // of prompts, in a pass; 0: prompts are computed whole
  double stream_overhead = 1;      // m: prompts take so many times as long where KV is streamed
  std::uint32_t streaming_buffers = 1;  // prompts that may be leaving a stage while one is computed
  // Requests come over time: a microbatch need not be full if nobody else is under way.
  bool open = false;

  std::uint64_t layer_kv_bytes = 0;  // of a token
  std::uint64_t layer_weight_bytes = 0;
  std::uint64_t reserved_bytes = 0;  // of a machine
  std::uint64_t machine_bytes = 0;   // 0: without limit
  // Bytes of a machine for prompts that wait and for what is swapped; 0: without limit.
  std::uint64_t host_bytes = 0;
  std::optional<MicrobatchSwaps> swaps{};  // of `token`; without outages

  std::optional<MachineLinks> links{};  // none: nothing takes time between stages
  // By time, and beside these by chance; of pipelines that compute prompts and tokens.
  std::vector<Outage> outages{};
  std::optional<OutageRate> outage_rate{};
  Recovery recovery = Recovery::scratch;
  RecoveryTimes recovery_times{};

  bool skip = true;       // without links and outages: a pass goes through all stages in one event
  bool timeline = false;  // keeps each stage's work

  [[nodiscard]] bool apart() const noexcept { return prompt.pipelines > 0; }
  [[nodiscard]] bool may_fail() const noexcept { return !outages.empty() || outage_rate; }
  [[nodiscard]] std::uint32_t machines() const noexcept {
    return prompt.pipelines * prompt.depth + token.pipelines * token.depth;
  }
};

// Seconds that no run takes longer than: one pass of the largest microbatch for each token and for
// each prompt, one after another, after the last arrival; all of it again after each of the outages
// that are named, and after one by the rate.
[[nodiscard]] double makespan_bound(const PipelineShape& shape, const PassCost& cost,
                                    const std::vector<TraceRequest>& requests);

// invalid_argument: a shape that cannot be, requests of which there is nothing to be told, or a run
// that may take longer than kMostSeconds.
[[nodiscard]] Result<void> check(const PipelineShape& shape, const PassCost& cost,
                                 const std::vector<TraceRequest>& requests);

// As the planner has it; what is not in a split stays as it is.
void take_split(PipelineShape& shape, const kv_stream::PlanInput& input,
                const kv_stream::Split& split);
void take_input(PipelineShape& shape, const kv_stream::PlanInput& input);

}  // namespace aqua::sim
