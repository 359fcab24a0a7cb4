// SPDX-License-Identifier: Apache-2.0
// aqua-coordinator token issue|revoke|list: who may come over TCP, or do more than who they
// are lets them do.
#pragma once

#include <span>
#include <string>

#include "aqua/result.hpp"

namespace aqua::coordinator {

// What to print, from the arguments after "token". invalid_argument for a bad command line.
[[nodiscard]] Result<std::string> token_command(std::span<const char* const> arguments);

}  // namespace aqua::coordinator
