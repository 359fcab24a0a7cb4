// SPDX-License-Identifier: Apache-2.0
// Files that a command was asked for, by --out and the like.
#pragma once

#include <string>

#include "aqua/result.hpp"

namespace aqua::tool {

// Writes a file whole or leaves what is there: the text goes to PATH.new, which then takes its
// place. A pipe or a device, and what a symbolic link leads to, is written to as it is. An error
// names the path and the reason (errno_error.hpp has the codes).
[[nodiscard]] Result<void> write_file(const std::string& path, const std::string& text);

// Whether write_file() can write there, for a command that works for minutes first.
[[nodiscard]] Result<void> check_writable(const std::string& path);

}  // namespace aqua::tool
