// SPDX-License-Identifier: Apache-2.0
// Prompts that begin alike, answered with a prefix cache and without one: nothing cached yet, the
// beginning fetched from lent memory, fetched from host memory after the lender has taken its own
// back, and lost since host memory was full then. Tokens and logits must be equal to the last bit.
#pragma once

#include <nlohmann/json.hpp>

#include "engine.hpp"
#include "neighbours.hpp"

namespace aqua::llama_example {

// Tokens of the longest prompt and its answer.
inline constexpr unsigned kPrefixCheckTokens = 2 * Engine::kChunkTokens + 64;

// Uses slot 0 of the engine, which is empty before and afterwards. All is leased before and
// afterwards. Throws Failure.
[[nodiscard]] nlohmann::json check_prefixes(example::Neighbours& neighbours, Engine& engine,
                                            const Model& model);

}  // namespace aqua::llama_example
