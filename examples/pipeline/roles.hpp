// SPDX-License-Identifier: Apache-2.0
// What the processes do that the orchestrator starts.
#pragma once

#include "options.hpp"

namespace aqua::pipeline {

// Returns the exit status, or throws Failure.
[[nodiscard]] int run_role(const Options& options);

}  // namespace aqua::pipeline
