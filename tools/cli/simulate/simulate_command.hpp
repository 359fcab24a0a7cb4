// SPDX-License-Identifier: Apache-2.0
// aqua simulate: what would users of an engine feel under each policy?
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "tools/cli/simulate/simulate_options.hpp"

namespace aqua::tool {

// Blocks for as long as it takes; writes --csv and --html. The text to print.
[[nodiscard]] Result<std::string> run_simulate(const SimulateOptions& options);

}  // namespace aqua::tool
