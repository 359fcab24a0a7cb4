// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/spec.hpp"

namespace aqua::sim {

double ModelSpec::layer_weights() const {
  const double h = hidden, q = static_cast<double>(heads) * head_dim;
  const double kv = static_cast<double>(kv_heads) * head_dim;
  return h * (q + 2 * kv) + q * h + static_cast<double>(ffn) * h * (gated_ffn ? 3 : 2);
}

double ModelSpec::weight_bytes() const {
  const double ends = 2.0 * vocab * hidden;  // embedding and head
  return (layers * layer_weights() + ends) * bytes_per_value;
}

double ModelSpec::kv_bytes_per_token() const {
  return 2.0 * layers * kv_heads * head_dim * bytes_per_value;
}

}  // namespace aqua::sim
