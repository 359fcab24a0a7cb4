// SPDX-License-Identifier: Apache-2.0
// aqua models list: what a keeper has.
//
// Threads: free functions that block for the keeper's answer.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "tools/cli/models/models_command.hpp"

namespace aqua::tool {

// The text to print: a row for each version, or for each shard on each device.
[[nodiscard]] Result<std::string> list_models(const ModelsCommand& command);
[[nodiscard]] Result<std::string> list_copies(const ModelsCommand& command);

}  // namespace aqua::tool
