// SPDX-License-Identifier: Apache-2.0
// The roofline: an operation takes as long as its arithmetic or its memory traffic, whichever
// is longer (Williams, Waterman, Patterson: Roofline, CACM 2009). Where nothing was measured,
// this is all there is; results that rest on it are labelled scaled or roofline.
//
// Units: seconds, on one of `tensor_parallel` GPUs.
#pragma once

#include "tools/sim/input/spec.hpp"

namespace aqua::sim {

// What one GPU achieves, in operations and bytes per second.
struct Roof {
  double flops = 0;
  double bytes_per_second = 0;

  [[nodiscard]] double seconds(double operations, double bytes) const {
    const double compute = operations / flops, memory = bytes / bytes_per_second;
    return compute > memory ? compute : memory;
  }
};

// Peaks times efficiencies.
[[nodiscard]] Roof roof_of(const GpuSpec& gpu);
// One layer's four linear parts for `tokens`: weights read once, activations in and out.
[[nodiscard]] double linear_layer_seconds(const ModelSpec& model, const Roof& roof, double tokens,
                                          unsigned tensor_parallel);
// The output head for `rows` sequences that get a token.
[[nodiscard]] double head_seconds(const ModelSpec& model, const Roof& roof, double rows,
                                  unsigned tensor_parallel);
// Attention of all layers: `tokens` new ones after `past` (causal).
[[nodiscard]] double attention_seconds(const ModelSpec& model, const Roof& roof, double tokens,
                                       double past, unsigned tensor_parallel);

}  // namespace aqua::sim
