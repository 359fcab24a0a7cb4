// SPDX-License-Identifier: Apache-2.0
// paged_attention() is attention over keys and values in the blocks of a pool, where they lie: an
// operation of ggml's graphs on the CPU. A GPU's kernel would do the same by a block table.
//
// Each row is computed by itself, so that its result does not depend on what else is computed.
#pragma once

#include <ggml.h>

#include <cstdint>
#include <span>

#include "aqua/layout.hpp"

namespace aqua::prefill_decode {

// One token to compute.
struct Row {
  std::int32_t token = 0;
  std::uint32_t position = 0;  // in its sequence; it attends to all up to itself
  BlockList blocks{};          // of its sequence
  bool wanted = false;         // its logits are
};

// What the operation needs beside tensors; outlives the computation.
struct AttentionInput {
  std::span<const Row> rows{};
  std::uint32_t tokens_per_block = 0;
  std::uint32_t kv_heads = 0;
};

// `query`: [head_width, heads, rows]. `keys`, `values`: 16-bit floats, [kv_width, tokens of all
// blocks], with those of `rows` written. Answers [head_width, heads, rows].
[[nodiscard]] ggml_tensor* paged_attention(ggml_context* graph, ggml_tensor* query,
                                           ggml_tensor* keys, ggml_tensor* values,
                                           AttentionInput& input);

}  // namespace aqua::prefill_decode
