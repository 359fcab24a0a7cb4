// SPDX-License-Identifier: Apache-2.0
// How a run ends: a report for programs, and whether it is what was promised.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace aqua::example {

// Text that is no UTF-8 is mended. Throws Failure when the file cannot be written; write an empty
// report at the start, so that this is known early.
void write_json(const std::filesystem::path& path, const nlohmann::json& report);

// Prints "OK", or each complaint after "FAILED: " to stderr. Returns the exit status.
[[nodiscard]] int verdict(const std::vector<std::string>& complaints);

}  // namespace aqua::example
