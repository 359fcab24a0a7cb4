// SPDX-License-Identifier: Apache-2.0
// The lender takes all its memory back while tokens are generated, and lends it again (the paper's
// figure 12): generation goes on, from host memory meanwhile.
#pragma once

#include <nlohmann/json.hpp>

#include "engine.hpp"
#include "neighbours.hpp"

namespace aqua::long_context {

// `steps`: of generation before, between and after. What came of it: a row for each stage, the
// lender's times, and moves. Throws Failure when the lender does not get its memory, and
// Interrupted after a stop signal.
[[nodiscard]] nlohmann::json show_reclaim(Engine& engine, example::Neighbours& neighbours,
                                          unsigned steps, const example::StopSignals& stop);

}  // namespace aqua::long_context
