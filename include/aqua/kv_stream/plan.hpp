// SPDX-License-Identifier: Apache-2.0
// How D machines serve one model: as one pipeline, as several, or with prefill and decode apart
// (DéjàVu, 4.2.1). Every way is tried, with every microbatch that was measured, under the memory of
// a machine; the one that takes the fewest seconds for each request is the plan.
//
// Threads: plain functions, deterministic.
// Units:   bytes, seconds, tokens. `depth` counts the stages of a pipeline, each a machine.
// Model:   requests are equal; there are always enough of them, or so many that come at once. Docs:
//          docs/plan/pipelines.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/export.h"
#include "aqua/kv_stream/equations.hpp"
#include "aqua/kv_stream/swap.hpp"
#include "aqua/result.hpp"

namespace aqua::kv_stream {

inline constexpr std::uint32_t kMostMachines = 128;

// What a microbatch of so many requests costs, through all layers, without waits between stages.
struct MicrobatchCost {
  std::uint32_t requests = 0;
  double prompt_seconds = 0;  // Y(b): all prompt tokens, and the first token of the answer
  double token_seconds = 0;   // t(b): one token of each request, the mean over an answer
  // With prompts apart: what the KV of the prompts takes over one machine's link, all layers, each
  // way. 0: never the slower.
  double stream_seconds = 0;
};

struct PlanInput {
  std::uint32_t machines = 0;        // D, 1 to kMostMachines; a plan may leave some idle
  std::uint64_t machine_bytes = 0;   // M: the device memory of a machine, all its GPUs together
  std::uint64_t reserved_bytes = 0;  // of that, for what is not planned: activations, embeddings
  std::uint32_t layers = 0;          // L
  std::uint64_t layer_weight_bytes = 0;  // W0
  std::uint64_t layer_kv_bytes = 0;      // of one token in one layer
  std::uint32_t prompt_tokens = 0;       // of a request
  std::uint32_t new_tokens = 0;          // N: token steps, those after the prompt's own token
  // New tokens that KV is reserved for, as for the longest answer; 0: for new_tokens.
  std::uint32_t reserved_tokens = 0;
  std::vector<MicrobatchCost> microbatches{};  // sizes to choose from, in any order

  // That all come at once, so that filling and draining count; 0: always enough.
  std::uint64_t requests = 0;

  // m: a prompt takes so many times as long when its KV is streamed away meanwhile; 1 or more.
  double stream_overhead = 1;
  // KV of prompts that may be on its way from a prompt machine, or to a token machine, beside what
  // is computed. 0: as the paper counts; the wait for the last prompt is not counted.
  std::uint32_t streaming_buffers = 1;
  // For microbatch swapping, of a machine. No host_bytes: no swapping.
  AwayMemory away{};
  bool only_swapped = false;      // where a pipeline can swap it does: to see what that costs
  double machine_hour_price = 0;  // in any currency
};

enum class Policy : std::uint8_t { colocated, colocated_dp, disaggregated, disaggregated_dp };

[[nodiscard]] constexpr std::string_view to_string(Policy policy) noexcept {
  constexpr std::string_view kNames[] = {"colocated", "colocated+dp", "disaggregated",
                                         "disaggregated+dp"};
  return kNames[static_cast<std::uint8_t>(policy)];
}

// Pipelines that are alike.
struct Side {
  std::uint32_t pipelines = 0, depth = 0;
  std::uint32_t layers = 0;      // of the slowest stage, the one with the most
  std::uint32_t microbatch = 0;  // requests
  bool swaps = false;            // KV is away but for swap_buffers() microbatches
  AwayPlaces away{};             // where, if it swaps
  bool fits = false;
  std::uint64_t bytes = 0, host_bytes = 0;  // what the machine of that stage holds
  double seconds = 0;  // inverse throughput of one of the pipelines, for a microbatch: Ic, Ip or It
};

// One way to use the machines. Its microbatches are the fastest that fit or else, where none fits,
// those that need the least memory.
struct Split {
  Policy policy{};
  Side prompt{};  // no pipelines if the policy is colocated
  Side token{};   // all pipelines if the policy is colocated
  std::uint32_t machines = 0;
  bool fits = false;
  // Seconds that a request takes on the slower side; with PlanInput::requests, the makespan divided
  // by them. 0 if it does not fit.
  double seconds_per_request = 0;
  double cost_per_request = 0;  // of the machines that it uses
  std::string lost{};           // why it is not the plan: filled by explain(); "" is the plan
};

struct Outcome {
  std::optional<Split> best{};  // the fastest split of this policy
  std::string reason{};         // why there is none, or why it does not pay; "" is the plan
};

struct Plan {
  Split best{};
  std::array<Outcome, 4> outcomes{};  // by Policy
  IdealSplit ideal{};  // (5) and (6) for the plan's microbatch and all machines: an estimate
};

// invalid_argument: the input names what cannot be, and what could.
// resource_exhausted: no split fits; the message has the smallest changes that would do.
[[nodiscard]] AQUA_API Result<Plan> plan(const PlanInput& input);

// Every split, fastest first, and why each was not taken. Fails as plan(), but for what does not
// fit: that is listed too.
[[nodiscard]] AQUA_API Result<std::vector<Split>> explain(const PlanInput& input);

// The smallest change that lets a split fit, each by itself. 0: no such change does.
struct Needs {
  std::uint32_t machines = 0;       // all else equal, the fewest, up to kMostMachines
  std::uint64_t machine_bytes = 0;  // the least memory of a machine
  std::uint32_t microbatch = 0;     // the largest, measured or not
  std::uint64_t host_bytes = 0;     // with only_swapped, the least host memory of a machine
};
[[nodiscard]] AQUA_API Result<Needs> needs(const PlanInput& input);

// "prompts 1 x 2 stages of 16 requests, tokens 1 x 4 stages of 16 requests".
[[nodiscard]] AQUA_API std::string describe(const Split& split);

}  // namespace aqua::kv_stream
