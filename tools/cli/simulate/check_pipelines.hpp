// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aqua/result.hpp"
#include "tools/cli/simulate/simulate_options.hpp"

namespace aqua::tool {

// invalid_argument: --workload pipeline with options that say nothing of it, or options of it
// without it.
[[nodiscard]] Result<void> check_pipelines(const SimulateOptions& options);

}  // namespace aqua::tool
