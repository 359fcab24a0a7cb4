// SPDX-License-Identifier: Apache-2.0
// One pipeline: what its slowest stage holds, and how long that stage takes for a microbatch.
#pragma once

#include <cstdint>

#include "aqua/kv_stream/equations.hpp"
#include "aqua/kv_stream/plan.hpp"

namespace aqua::kv_stream {

// New tokens of a request that KV is reserved for.
[[nodiscard]] constexpr std::uint32_t kept_tokens(const PlanInput& input) noexcept {
  return input.reserved_tokens == 0 ? input.new_tokens : input.reserved_tokens;
}

// What the slowest stage of a side takes of a microbatch, and that side of so many requests alone.
struct SideTimes {
  double prompt = 0;  // m included; of tokens 0
  double stream = 0;  // over a machine's link
  TokenSteps steps{};
};

enum class Role : std::uint8_t { colocated, prompt, token };

// The fastest microbatch that fits so many pipelines of this depth, 1 to `layers`, swapped or not.
// If none fits, the one that needs the least memory of a machine.
[[nodiscard]] Side best_side(const PlanInput& input, Role role, std::uint32_t depth,
                             std::uint32_t pipelines = 1);
[[nodiscard]] SideTimes times_of(const PlanInput& input, Role role, const Side& side);
// Microbatches that the busiest of its pipelines has of PlanInput::requests.
[[nodiscard]] std::uint64_t most_microbatches(const PlanInput& input, const Side& side);

// Whether it wants more host memory than a machine has.
[[nodiscard]] bool lacks_host(const PlanInput& input, const Side& side);

// The requests that a microbatch of a colocated pipeline may have at most, by memory.
[[nodiscard]] std::uint64_t largest_microbatch(const PlanInput& input, std::uint32_t depth);

}  // namespace aqua::kv_stream
