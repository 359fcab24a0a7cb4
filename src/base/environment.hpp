// SPDX-License-Identifier: Apache-2.0
// Reads variables of the environment.
//
// Threads: any, as long as nobody sets variables meanwhile.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>

namespace aqua {

// The variable's value; `otherwise` where it is not set, or empty.
[[nodiscard]] inline std::string environment(const char* name, std::string otherwise = {}) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::string(value) : std::move(otherwise);
}

}  // namespace aqua
