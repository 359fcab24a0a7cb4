// SPDX-License-Identifier: Apache-2.0
// The orchestrator: serves the requests with the pipeline and with one process, and compares.
#pragma once

#include "options.hpp"

namespace aqua::pipeline {

// Returns the exit status, or throws Failure.
[[nodiscard]] int play(const Options& options);

}  // namespace aqua::pipeline
