// SPDX-License-Identifier: Apache-2.0
// Microbatch swapping (DéjàVu, 4.2.2 and appendix E): of the microbatches of a pipeline only the
// one that is computed and the one that comes next have their KV on the device. All KV is kept away
// from it: in memory that a neighbour has lent, as far as there is any, else in host memory. So
// microbatches may be larger, as long as their KV comes back in time.
//
// Threads: plain functions. Units: seconds and bytes, of one stage and its machine. A step moves
//          the whole KV of a microbatch in, and what it adds, a token of each request, out.
// Input is the caller's to check: times finite and at least 0, rates above 0 where there is memory.
#pragma once

#include <cstdint>
#include <optional>

#include "aqua/export.h"
#include "aqua/kv_stream/equations.hpp"

namespace aqua::kv_stream {

// Microbatches that have their KV on the device, of `depth` that take turns. Of two it is one,
// since both would be all: then no copy hides behind a step.
[[nodiscard]] constexpr std::uint32_t swap_buffers(std::uint32_t depth) noexcept {
  return depth > 2 ? 2 : 1;
}

// Where a machine may keep KV away from its device. Whatever lies in lent memory has its exit in
// host memory as well, so that host memory bounds what is away. host_bytes of 0: no swapping.
struct AwayMemory {
  std::uint64_t host_bytes = 0;
  double host_bytes_per_second = 0;  // each way
  std::uint64_t lent_bytes = 0;      // of neighbours, to this machine
  double lent_bytes_per_second = 0;
  friend bool operator==(const AwayMemory&, const AwayMemory&) = default;
};

// Microbatches by where their KV is.
struct AwayPlaces {
  std::uint32_t lent = 0, host = 0;
  friend bool operator==(const AwayPlaces&, const AwayPlaces&) = default;
};

// Where `microbatches` of so many bytes each lie: in lent memory first, if it is the faster one.
// Nothing: host memory is too small for them and `other_host_bytes`.
[[nodiscard]] AQUA_API std::optional<AwayPlaces> place_away(const AwayMemory& memory,
                                                            std::uint32_t microbatches,
                                                            std::uint64_t bytes_each,
                                                            std::uint64_t other_host_bytes = 0);

// What the copies of a stage take.
struct SwapCopies {
  std::uint32_t buffers = 2;
  AwayPlaces places{};
  // For a token of KV of each of a microbatch's requests, one way.
  double lent_seconds = 0, host_seconds = 0;
};
// `token_bytes`: KV of one token of each request, in the layers of the stage. `depth` microbatches
// take turns.
[[nodiscard]] AQUA_API SwapCopies swap_copies(const AwayMemory& memory, const AwayPlaces& places,
                                              std::uint64_t token_bytes, std::uint32_t depth);

// Seconds that the stage is occupied by a microbatch, the mean of those in lent and in host memory.
// With two buffers the copy of the next microbatch hides behind a step, and what is written goes
// the other way behind the next one: a step takes as long as the slower of both. With one they add
// up. Not counted: where a step takes about as long as its copy, what it adds delays two steps of
// an answer by at most half of its own copy; and once a round where lent and host memory mix.
[[nodiscard]] AQUA_API TokenSteps swapped_steps(double step_seconds, std::uint64_t tokens,
                                                std::uint64_t prompt_tokens,
                                                const SwapCopies& copies);
// A prompt's KV is computed on the device, and goes out whole.
[[nodiscard]] AQUA_API double swapped_prompt(double prompt_seconds, std::uint64_t prompt_tokens,
                                             const SwapCopies& copies);

// The rule: a microbatch that fits the device with all others, or a larger one that is swapped.
struct SwapChoice {
  struct Size {
    std::uint32_t requests = 0;
    double prompt_seconds = 0, token_seconds = 0;  // of the stage; prompts elsewhere: 0
  };
  std::uint32_t depth = 0;
  std::uint64_t prompt_tokens = 0, tokens = 0;
  Size kept{}, swapped{};
  SwapCopies copies{};  // of `swapped`
};
// Requests a second with swapping over those without: it pays above 1.
[[nodiscard]] AQUA_API double swapping_gain(const SwapChoice& choice);

}  // namespace aqua::kv_stream
