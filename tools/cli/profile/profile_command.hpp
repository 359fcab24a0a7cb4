// SPDX-License-Identifier: Apache-2.0
// aqua profile: what load does an engine sustain, and what memory does that leave?
#pragma once

#include <stop_token>
#include <string>

#include "aqua/result.hpp"
#include "tools/cli/profile/profile_options.hpp"

namespace aqua::tool {

// Blocks for minutes; writes --out after each step, and --html. The text to print. On an error,
// and when `stop` is asked for, the files have what was found until then.
[[nodiscard]] Result<std::string> run_profile(const ProfileOptions& options,
                                              const std::stop_token& stop);
// Likewise; SIGINT and SIGTERM stop it. Call it before there are other threads.
[[nodiscard]] Result<std::string> run_profile(const ProfileOptions& options);

}  // namespace aqua::tool
