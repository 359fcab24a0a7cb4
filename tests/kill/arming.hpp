// SPDX-License-Identifier: Apache-2.0
// Arms one step of this process: when it is reached for the given time, the process kills or
// stops itself there and then.
//
// Threads: arm() from one; the step may be reached on any.
#pragma once

#include <string_view>

#include "aqua/result.hpp"

namespace aqua::kill_test {

// "STEP:COUNT:kill" or "STEP:COUNT:stop", for example "copy:3:kill". Replaces what was armed
// before; "" disarms. invalid_argument for anything else.
[[nodiscard]] Result<void> arm(std::string_view at);

}  // namespace aqua::kill_test
