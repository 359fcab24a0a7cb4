// SPDX-License-Identifier: Apache-2.0
// LlamaShape holds the sizes of a model of Llama's kind, as the metadata of a GGUF file tells them.
//
// Units: elements. Errors: Failure.
#pragma once

#include <cstdint>
#include <filesystem>

#include "aqua/handoff/kv_pool.hpp"

namespace aqua::prefill_decode {

struct LlamaShape {
  std::uint32_t layers = 0;
  std::uint32_t width = 0;  // of a token between layers
  std::uint32_t heads = 0, kv_heads = 0, head_width = 0;
  std::uint32_t rope_width = 0;  // of each head, its leading elements that are rotated
  std::uint32_t context = 0;     // tokens that it was trained for
  float rope_base = 10'000;
  float norm_epsilon = 1e-5F;

  [[nodiscard]] std::uint32_t kv_width() const { return kv_heads * head_width; }
};

// Reads the metadata alone. Throws Failure where the file is no GGUF, of another architecture, or
// of a model that PagedLlama does not compute (scaled rotation, biases, experts).
[[nodiscard]] LlamaShape read_llama_shape(const std::filesystem::path& file);

inline constexpr std::uint32_t kTokensPerBlock = 16;
// A pool of so many blocks for such a model: keys and values in 16-bit floats, token by token.
[[nodiscard]] KvPoolShape kv_shape(const LlamaShape& shape, std::uint32_t blocks);

}  // namespace aqua::prefill_decode
