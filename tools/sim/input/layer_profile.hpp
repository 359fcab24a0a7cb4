// SPDX-License-Identifier: Apache-2.0
// Measured times of a model's linear parts against the tokens in the batch (vidur's columns).
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/sim/input/spec.hpp"

namespace aqua::sim {

class LayerProfile {
 public:
  // Rows of this tensor-parallel degree; medians, several rows of one size averaged.
  // invalid_argument names line and column; failed_precondition without rows of the degree.
  [[nodiscard]] static Result<LayerProfile> read(std::string_view text, unsigned tensor_parallel);

  // Seconds of one layer (norms, projections, rotary, MLP, two additions) on one GPU; linear
  // between the sizes measured, in proportion beyond the largest.
  [[nodiscard]] double layer_seconds(double tokens) const { return at(layer_, tokens); }
  // Seconds of the embedding, once per iteration.
  [[nodiscard]] double embedding_seconds(double tokens) const { return at(embedding_, tokens); }
  [[nodiscard]] unsigned largest() const { return layer_.rbegin()->first; }
  // The measured model's shape: heads, kv_heads, hidden, ffn, gated_ffn, vocab.
  [[nodiscard]] const ModelSpec& shape() const noexcept { return shape_; }

 private:
  using Curve = std::map<unsigned, double>;
  [[nodiscard]] static double at(const Curve& curve, double tokens);

  Curve layer_;
  Curve embedding_;
  ModelSpec shape_;
};

}  // namespace aqua::sim
