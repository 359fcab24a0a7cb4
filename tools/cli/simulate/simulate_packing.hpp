// SPDX-License-Identifier: Apache-2.0
// aqua simulate --pack: not schedulers are compared, but packers of requests over several engines.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "tools/cli/simulate/simulate_options.hpp"
#include "tools/report/progress_line.hpp"
#include "tools/sim/input/trace.hpp"

namespace aqua::tool {

// The text to print, or JSON; writes --placements and --html. invalid_argument: no such packer.
[[nodiscard]] Result<std::string> run_packing(const SimulateOptions& options,
                                              const sim::Trace& trace, report::ProgressLine& bar);

}  // namespace aqua::tool
