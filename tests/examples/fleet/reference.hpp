// SPDX-License-Identifier: Apache-2.0
// What the toy model answers, computed without pages, batches or moves: one sequence in memory of
// its own.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/tools/router/live.hpp"

namespace aqua::fleet::test {

using router::test::Answer;

// The answer that fleet_engine's model gives as it is by default.
[[nodiscard]] Answer reference_answer(const std::vector<std::uint32_t>& prompt, std::uint64_t seed,
                                      std::uint32_t tokens);

}  // namespace aqua::fleet::test
