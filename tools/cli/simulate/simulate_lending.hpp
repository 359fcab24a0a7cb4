// SPDX-License-Identifier: Apache-2.0
// aqua simulate --workload long-prompt and --workload elastic: not a scheduler is compared, but
// where a context that is larger than its device lies.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "tools/cli/simulate/simulate_options.hpp"
#include "tools/sim/input/trace.hpp"

namespace aqua::tool {

// The text to print, or JSON.
[[nodiscard]] Result<std::string> run_long_prompt(const SimulateOptions& options);
// --model lends and serves the trace; --borrower streams a long prompt.
[[nodiscard]] Result<std::string> run_elastic(const SimulateOptions& options,
                                              const sim::Trace& trace);

}  // namespace aqua::tool
