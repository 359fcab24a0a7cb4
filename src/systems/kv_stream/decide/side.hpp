// SPDX-License-Identifier: Apache-2.0
// One pipeline: what its slowest stage holds, and how long that stage takes for a microbatch.
#pragma once

#include <cstdint>

#include "aqua/kv_stream/plan.hpp"

namespace aqua::kv_stream {

// New tokens of a request that KV is reserved for.
[[nodiscard]] constexpr std::uint32_t kept_tokens(const PlanInput& input) noexcept {
  return input.reserved_tokens == 0 ? input.new_tokens : input.reserved_tokens;
}

enum class Role : std::uint8_t { colocated, prompt, token };

// The fastest microbatch that fits a pipeline of this depth, 1 to `layers`, swapped or not. If none
// fits, the one that needs the least memory of a machine.
[[nodiscard]] Side best_side(const PlanInput& input, Role role, std::uint32_t depth);

// Whether it wants more host memory than a machine has.
[[nodiscard]] bool lacks_host(const PlanInput& input, const Side& side);

// The requests that a microbatch of a colocated pipeline may have at most, by memory.
[[nodiscard]] std::uint64_t largest_microbatch(const PlanInput& input, std::uint32_t depth);

}  // namespace aqua::kv_stream
