// SPDX-License-Identifier: Apache-2.0
// The same load twice, without a prefix cache and with one, over one runtime that borrows memory
// from another process: hits, times to the first token, and whether the answers are the same.
#pragma once

#include <nlohmann/json.hpp>

#include "serving.hpp"

namespace aqua::llama_example {

// Prints what came out, and returns it. Throws Failure.
[[nodiscard]] nlohmann::json compare_with_prefix_cache(const Model& model,
                                                       const ServeOptions& options,
                                                       const std::vector<Asked>& load);

}  // namespace aqua::llama_example
