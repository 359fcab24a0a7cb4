// SPDX-License-Identifier: Apache-2.0
// aqua simulate --workload pipeline: one pipeline, several, or prefill and decode apart, each with
// the split that serves the trace best.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "tools/cli/simulate/simulate_options.hpp"
#include "tools/report/progress_line.hpp"
#include "tools/sim/input/trace.hpp"

namespace aqua::tool {

// The text to print, or JSON; writes --timeline. With --rate requests come over time, without all
// at once.
[[nodiscard]] Result<std::string> run_pipelines(const SimulateOptions& options,
                                                const sim::Trace& trace, report::ProgressLine& bar);

}  // namespace aqua::tool
