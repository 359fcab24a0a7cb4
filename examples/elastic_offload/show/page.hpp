// SPDX-License-Identifier: Apache-2.0
// The report as one HTML page with pictures.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "show/timeline.hpp"

namespace aqua::example {

[[nodiscard]] std::string render_page(const nlohmann::json& report, const Timeline& timeline);
// Throws Failure when the file cannot be written.
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace aqua::example
