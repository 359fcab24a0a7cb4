// SPDX-License-Identifier: Apache-2.0
// What people start: the processes, the checks, and what was measured.
#pragma once

#include "program_options.hpp"

namespace aqua::prefill_decode {

// Returns the exit status, or throws Failure.
[[nodiscard]] int play(const Options& options);

}  // namespace aqua::prefill_decode
