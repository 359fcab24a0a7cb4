// SPDX-License-Identifier: Apache-2.0
// The toy model's shape, and which part of it each process of a pipeline computes: stages divide
// the layers, the ranks of a stage divide the heads.
//
// Threads: plain values and functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aqua::pipeline {

struct ModelShape {
  unsigned layers = 7;        // odd: stages have unequal parts
  unsigned kv_heads = 6;      // whose keys and values are stored
  unsigned query_heads = 12;  // a KV head is read by query_heads / kv_heads of them
  unsigned head_bytes = 16;   // of a key, and of a value; a multiple of 8
};

struct PipelineShape {
  unsigned stages = 1;
  unsigned ranks = 1;  // of each stage
  [[nodiscard]] unsigned processes() const { return stages * ranks; }
  friend bool operator==(const PipelineShape&, const PipelineShape&) = default;
};

struct Range {
  unsigned first = 0;
  unsigned count = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

// In numbers of the model.
struct Part {
  Range layers{};
  Range kv_heads{};  // that query_heads read; where ranks outnumber KV heads, others have them too
  Range query_heads{};
};

// "2x3": two stages of three ranks. None: it is no shape.
[[nodiscard]] std::optional<PipelineShape> parse_shape(std::string_view text);
[[nodiscard]] std::string to_string(const PipelineShape& shape);
// Why the model cannot be divided so; none: it can.
[[nodiscard]] std::optional<std::string> refusal(const ModelShape& model,
                                                 const PipelineShape& pipeline);
// The first stages have a layer more where they cannot all have as many.
[[nodiscard]] Part part_of(const ModelShape& model, const PipelineShape& pipeline, unsigned stage,
                           unsigned rank);

}  // namespace aqua::pipeline
