// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/cost/roofline.hpp"

namespace aqua::sim {

Roof roof_of(const GpuSpec& gpu) {
  return {.flops = gpu.flops * gpu.compute_efficiency,
          .bytes_per_second = gpu.memory_bytes_per_second * gpu.memory_efficiency};
}

double linear_layer_seconds(const ModelSpec& model, const Roof& roof, double tokens,
                            unsigned tensor_parallel) {
  const double weights = model.layer_weights() / tensor_parallel;
  // In and out of each of the four: hidden and heads are the same size, the MLP's inside larger.
  const double activations = (6.0 * model.hidden + 3.0 * model.ffn / tensor_parallel) * tokens;
  return roof.seconds(2 * weights * tokens, (weights + activations) * model.bytes_per_value);
}

double head_seconds(const ModelSpec& model, const Roof& roof, double rows,
                    unsigned tensor_parallel) {
  if (rows <= 0) return 0;
  const double weights = static_cast<double>(model.vocab) * model.hidden / tensor_parallel;
  return roof.seconds(2 * weights * rows, weights * model.bytes_per_value);
}

double attention_seconds(const ModelSpec& model, const Roof& roof, double tokens, double past,
                         unsigned tensor_parallel) {
  // Two products, each of 2 operations a value, over past + half of the new ones.
  const double seen = tokens * (past + (tokens + 1) / 2);
  const double operations = 4.0 * model.layers * model.heads * model.head_dim * seen;
  const double bytes = model.kv_bytes_per_token() * (past + tokens);
  return roof.seconds(operations / tensor_parallel, bytes / tensor_parallel);
}

}  // namespace aqua::sim
