// SPDX-License-Identifier: Apache-2.0
// How long it takes to bring one long conversation back: from an AquaTensor in lent memory, from
// process memory, and by computing it again. Rounds of the first two alternate, so that a busy
// machine disturbs both.
#pragma once

#include <nlohmann/json.hpp>

#include "aqua/runtime.hpp"
#include "engine.hpp"
#include "options.hpp"

namespace aqua::llama_example {

// Uses slot 0 of the engine, which is empty before and afterwards. Throws Failure.
[[nodiscard]] nlohmann::json measure_resuming(Runtime& runtime, Engine& engine,
                                              const std::vector<Token>& prompt,
                                              const Options& options);

}  // namespace aqua::llama_example
