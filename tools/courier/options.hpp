// SPDX-License-Identifier: Apache-2.0
// What aqua-courier is started with: a JSON file, which docs/operate/courier.md describes.
//
// Threads: plain functions.
#pragma once

#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tools/courier/courier.hpp"

namespace aqua::courier {

// invalid_argument names the key: one that is missing, unknown, or holds what cannot be.
[[nodiscard]] Result<CourierOptions> parse_options(std::string_view json);
// Reads options from a file; `path` begins each message. Files that it names beside itself are
// found beside it.
[[nodiscard]] Result<CourierOptions> read_options(const std::string& path);

}  // namespace aqua::courier
