// SPDX-License-Identifier: Apache-2.0
// `aqua simulate --calibrate FILE --predict FILE,...` of recordings of real pipelines.
#pragma once

#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tools/cli/simulate/simulate_options.hpp"

namespace aqua::tool {

// Whether it is the text of such a recording, be it a good one or not.
[[nodiscard]] bool is_pipeline_recording(std::string_view text);

// What is to be printed; `calibrate` is the text of that file. Errors name the file.
[[nodiscard]] Result<std::string> run_pipeline_calibration(const SimulateOptions& options,
                                                           std::string_view calibrate);

}  // namespace aqua::tool
