// SPDX-License-Identifier: Apache-2.0
// run_engine() is an engine's program, whatever model it has: answers until it fails.
#pragma once

#include <functional>
#include <memory>

#include "aqua/runtime.hpp"
#include "compute/model.hpp"
#include "options.hpp"

namespace aqua::fleet {

// Throws Failure where it cannot begin. Answers the program's exit status.
[[nodiscard]] int run_engine(const Options& options,
                             const std::function<std::unique_ptr<Model>(Runtime&)>& make_model);

}  // namespace aqua::fleet
