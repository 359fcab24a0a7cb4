// SPDX-License-Identifier: Apache-2.0
// Pipelines that are given Y(b) and t(b), and requests that are alike.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tools/sim/pipeline/serving.hpp"

namespace aqua::sim::test {

inline std::vector<TraceRequest> alike(std::size_t count, std::uint32_t prompt,
                                       std::uint32_t output) {
  return std::vector<TraceRequest>(count, {.prompt_tokens = prompt, .output_tokens = output});
}

inline PipelineOutcome must_serve(const PipelineShape& shape, const PassCost& cost,
                                  const std::vector<TraceRequest>& requests) {
  auto outcome = serve(shape, cost, requests);
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
  if (!outcome.ok()) std::abort();
  return std::move(outcome).value();
}

// Layers that every depth up to 8 divides, so that stages are alike.
inline PipelineShape small_shape() {
  return {.layers = 840, .layer_kv_bytes = 1, .layer_weight_bytes = 1};
}

}  // namespace aqua::sim::test
