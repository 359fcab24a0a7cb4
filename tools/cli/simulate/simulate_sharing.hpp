// SPDX-License-Identifier: Apache-2.0
// aqua simulate --share: not a scheduler is compared, but ways in which several models share a GPU.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "tools/cli/simulate/simulate_options.hpp"
#include "tools/report/progress_line.hpp"
#include "tools/sim/input/trace.hpp"

namespace aqua::tool {

// The text to print, or JSON. failed_precondition: the models do not fit the GPU.
[[nodiscard]] Result<std::string> run_sharing(const SimulateOptions& options,
                                              const sim::Trace& trace, report::ProgressLine& bar);

}  // namespace aqua::tool
