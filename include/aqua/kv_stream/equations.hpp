// SPDX-License-Identifier: Apache-2.0
// The equations of DéjàVu (4.2.1), mended where the paper errs:
// docs/plan/pipelines.md says what and why. The planner (plan.hpp) uses (3), with whole layers; the
// rest are estimates that stand beside it.
//
// Threads: plain functions. Units: seconds and bytes. D: machines, one stage each.
// Input is the caller's to check: times finite and above 0, bytes of a layer above 0, depths and
// tokens 1 or more.
#pragma once

#include <cstdint>
#include <optional>

#include "aqua/export.h"

namespace aqua::kv_stream {

struct LayerMemory {
  std::uint32_t layers = 0;           // L
  std::uint64_t machine_bytes = 0;    // M
  std::uint64_t weight_bytes = 0;     // W0, of a layer
  std::uint64_t prompt_kv_bytes = 0;  // C0, of a layer and a microbatch
  std::uint64_t token_kv_bytes = 0;   // K0, likewise, of the tokens that are generated
};

// (1): the fewest stages that hold the weights and the KV of one prompt. Nothing if no layer fits.
[[nodiscard]] AQUA_API std::optional<std::uint32_t> prompt_depth(const LayerMemory& memory);
// (2): the fewest stages that hold the weights and the KV of as many microbatches as stages.
// Nothing if no depth does; a greater depth may hold less, since layers do not split.
[[nodiscard]] AQUA_API std::optional<std::uint32_t> token_depth(const LayerMemory& memory);

// Seconds that a microbatch's token steps occupy a stage.
struct TokenSteps {
  double seconds = 0;  // all of them
  double first = 0, last = 0;
};

// `tokens` steps of `step_seconds`. Those of a microbatch that is swapped: swap.hpp.
[[nodiscard]] AQUA_API TokenSteps token_steps(double step_seconds, std::uint64_t tokens);

// (3): inverse throughput of a pipeline of `depth` stages with as many microbatches in flight,
// which begin and end together: stage seconds of one, and its share of the bubbles.
// `prompt_seconds` is what a prompt occupies a stage; 0 if prompts are processed elsewhere.
[[nodiscard]] AQUA_API double inverse_throughput(std::uint32_t depth, double prompt_seconds,
                                                 const TokenSteps& steps);

// Until the last of so many equal microbatches has left a pipeline of `depth` stages, with as many
// in flight, that begin at once: rounds of (3), and a last one that also drains. 1 or more.
[[nodiscard]] AQUA_API double makespan(std::uint32_t depth, double prompt_seconds,
                                       const TokenSteps& steps, std::uint64_t microbatches);

// (4): disaggregation pays, by (5), if Y/t is above this. Nothing: it never does, as m is not below
// 2 - 1/D. For Y >= t.
[[nodiscard]] AQUA_API std::optional<double> least_ratio_that_pays(std::uint32_t machines,
                                                                   double stream_overhead);

struct IdealSplit {
  double prompt_machines = 0, token_machines = 0;  // real numbers
};
// (5) and (6): where both sides would keep pace with each other if machines could be divided.
[[nodiscard]] AQUA_API IdealSplit ideal_split(std::uint32_t machines, double prompt_seconds,
                                              double token_seconds, std::uint64_t tokens,
                                              double stream_overhead);

}  // namespace aqua::kv_stream
