// SPDX-License-Identifier: Apache-2.0
// aqua models load, copy and trim: weights come to devices, from files or from another device, and
// go to host memory.
//
// Threads: free functions that block; the weights of several devices come by a thread each.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "aqua/runtime.hpp"
#include "tools/cli/models/models_command.hpp"

namespace aqua::tool {

// The text to print. Where some of several devices could not have them, the error says which, and
// which have them.
[[nodiscard]] Result<std::string> load_models(const ModelsCommand& command);
[[nodiscard]] Result<std::string> copy_models(const ModelsCommand& command);
[[nodiscard]] Result<std::string> trim_models(const ModelsCommand& command);

// A runtime that only publishes or reads. An emulated device is as large as that.
[[nodiscard]] Result<Runtime> open_for_models(const std::string& device,
                                              std::size_t emulated_bytes);

}  // namespace aqua::tool
