// SPDX-License-Identifier: Apache-2.0
// The model's keys and values as a paged engine would hold them: a plane of blocks for each
// layer's keys and one for its values. Blocks go out by offload() and come back by fetch() into
// other blocks, are compared byte by byte, and llama.cpp goes on from what came back.
#pragma once

#include <nlohmann/json.hpp>

#include "aqua/runtime.hpp"
#include "engine.hpp"

namespace aqua::llama_example {

// Uses slots 0 and 1 of the engine, which are empty before and afterwards. Throws Failure.
[[nodiscard]] nlohmann::json measure_blocks(Runtime& runtime, Engine& engine,
                                            const std::vector<Token>& prompt);

}  // namespace aqua::llama_example
