// SPDX-License-Identifier: Apache-2.0
// The kernel in place of a layer's forward pass. It reads every key and value of the layer: once to
// compare each word with what was written, and once for each query, as attention does (a score from
// the key, and the value added with the score as its weight; integers, no softmax). Then it writes
// the new token's key and value, stamped.
//
// Threads: launches from one thread. Units: bytes, tokens.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "aqua/emulated.hpp"
#include "stamps.hpp"

namespace aqua::long_context {

// What kernels have found; outlives their stream's work.
struct Findings {
  std::atomic<std::uint64_t> verified_bytes{0};
  std::atomic<std::uint64_t> mismatched_bytes{0};
  std::atomic<std::uint64_t> digest{0};  // of what attention gave, so that it must be computed
};

struct LayerWork {
  unsigned layer = 0;
  std::uint32_t tokens = 0;  // that the layer holds
  unsigned queries = 0;      // that read each key and value
};

// `cache`, `blocks` (those of `tokens` tokens and the next one) and `findings` outlive the work.
void launch_attention(Runtime& runtime, Stream stream, const example::CacheGeometry& cache,
                      std::span<const std::uint32_t> blocks, const LayerWork& work,
                      Findings& findings);

// Writes a whole prompt's keys and values of a layer.
void launch_prefill(Runtime& runtime, Stream stream, const example::CacheGeometry& cache,
                    std::span<const std::uint32_t> blocks, unsigned layer, std::uint32_t tokens);

}  // namespace aqua::long_context
