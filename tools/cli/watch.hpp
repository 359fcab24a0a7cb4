// SPDX-License-Identifier: Apache-2.0
// `aqua status --watch`: the status again and again, until Ctrl-C.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "aqua/result.hpp"

namespace aqua::tool {

// Calls `look` every `interval` and shows what it gives: on a terminal in place, on a screen of
// its own that is gone afterwards; else one after the other. An error is shown and asked again.
// Returns 0 after SIGINT or SIGTERM, 1 when stdout is closed.
//
// Threads: the main one, before there are others; blocks the two signals.
[[nodiscard]] int watch(const std::function<Result<std::string>()>& look,
                        std::chrono::milliseconds interval);

// One screen: the cursor home, every line's rest cleared, and everything below.
[[nodiscard]] std::string redrawn(const std::string& text);

}  // namespace aqua::tool
