// SPDX-License-Identifier: Apache-2.0
// What the processes do that the example starts of its own program.
#pragma once

#include "program_options.hpp"

namespace aqua::prefill_decode {

// One process alone has a pool of its own.
[[nodiscard]] const char* pool_name(Options::Kind kind);

// Runs a role other than main. Returns the exit status, or throws Failure.
[[nodiscard]] int run_role(const Options& options);

}  // namespace aqua::prefill_decode
