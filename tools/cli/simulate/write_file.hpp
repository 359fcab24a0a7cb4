// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "aqua/result.hpp"

namespace aqua::tool {

// In place of what is there. permission_denied names the path.
[[nodiscard]] Result<void> write_file(const std::string& path, const std::string& text);

}  // namespace aqua::tool
