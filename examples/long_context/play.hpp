// SPDX-License-Identifier: Apache-2.0
// What the main process does: prefill, measure, show a reclaim, report.
#pragma once

#include "options.hpp"

namespace aqua::long_context {

// Returns the exit status, or throws Failure.
[[nodiscard]] int run_engine(const Options& options);

}  // namespace aqua::long_context
