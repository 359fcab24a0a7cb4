// SPDX-License-Identifier: Apache-2.0
// The main process's work: the same conversations in four ways, with a reclaim in the middle of
// the one that uses tensors, and what is to be said about it.
#pragma once

#include "options.hpp"

namespace aqua::llama_example {

// Returns the exit status; throws Failure.
[[nodiscard]] int run_engine(const Options& options);

}  // namespace aqua::llama_example
