// SPDX-License-Identifier: Apache-2.0
// `aqua simulate --calibrate FILE --predict FILE,...`: how close the simulator comes to an engine,
// or a pipeline of processes, that was recorded.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "tools/cli/simulate/simulate_options.hpp"

namespace aqua::tool {

// What is to be printed. Errors name the file.
[[nodiscard]] Result<std::string> run_calibration(const SimulateOptions& options);

}  // namespace aqua::tool
