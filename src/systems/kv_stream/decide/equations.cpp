// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/equations.hpp"

#include <algorithm>

// Numbers in brackets are the paper's.
namespace aqua::kv_stream {

std::optional<std::uint32_t> prompt_depth(const LayerMemory& memory) {
  const std::uint64_t fit = memory.machine_bytes / (memory.weight_bytes + memory.prompt_kv_bytes);
  if (fit == 0) return std::nullopt;
  return static_cast<std::uint32_t>((memory.layers + fit - 1) / fit);
}

std::optional<std::uint32_t> token_depth(const LayerMemory& memory) {
  const std::uint64_t kv = memory.prompt_kv_bytes + memory.token_kv_bytes;
  for (std::uint32_t depth = 1; depth <= memory.layers; ++depth) {
    const std::uint64_t stage = (memory.layers + depth - 1) / depth;
    if (stage * (memory.weight_bytes + depth * kv) <= memory.machine_bytes) return depth;
  }
  return std::nullopt;
}

TokenSteps token_steps(double step_seconds, std::uint64_t tokens) {
  return {static_cast<double>(tokens) * step_seconds, step_seconds, step_seconds};
}

// The stages repeat a cycle of rounds: prompts, first tokens, ..., last tokens. A microbatch enters
// its next round when it has left the last stage. Each time that the next round is shorter by x,
// the stages wait depth - 1 times x for it; no longer round makes them wait.
double inverse_throughput(std::uint32_t depth, double prompt_seconds, const TokenSteps& steps) {
  const double shorter = prompt_seconds > 0 ? std::max(0.0, prompt_seconds - steps.first) +
                                                  std::max(0.0, steps.last - prompt_seconds)
                                            : steps.last - steps.first;
  return prompt_seconds + steps.seconds + (depth - 1) * shorter / depth;
}

// In the last round a microbatch waits for those before it once, and then goes through all stages
// for each of its steps.
double makespan(std::uint32_t depth, double prompt_seconds, const TokenSteps& steps,
                std::uint64_t microbatches) {
  const std::uint64_t rounds = (microbatches - 1) / depth;
  const auto before = static_cast<double>((microbatches - 1) % depth);
  const double last = depth * prompt_seconds + before * std::max(prompt_seconds, steps.first) +
                      depth * steps.seconds;
  return static_cast<double>(rounds * depth) * inverse_throughput(depth, prompt_seconds, steps) +
         last;
}

std::optional<double> least_ratio_that_pays(std::uint32_t machines, double stream_overhead) {
  const double gain = machines * (2 - stream_overhead) - 1;
  if (gain <= 0) return std::nullopt;
  return (machines - 1) / gain;
}

IdealSplit ideal_split(std::uint32_t machines, double prompt_seconds, double token_seconds,
                       std::uint64_t tokens, double stream_overhead) {
  const double prompt = stream_overhead * prompt_seconds;
  const double answer = static_cast<double>(tokens) * token_seconds;
  return {machines * prompt / (prompt + answer), machines * answer / (prompt + answer)};
}

}  // namespace aqua::kv_stream
