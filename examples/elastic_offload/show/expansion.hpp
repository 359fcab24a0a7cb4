// SPDX-License-Identifier: Apache-2.0
// What a run says of layers in frames, and of a lender's death. Texts are empty where the run had
// none of it.
#pragma once

#include <string>
#include <vector>

#include "show/report.hpp"

namespace aqua::example {

[[nodiscard]] nlohmann::json expansion_json(const RunRecord& outcome);
[[nodiscard]] nlohmann::json death_json(const Play& play);

[[nodiscard]] std::string expansion_sentence(const nlohmann::json& report);
[[nodiscard]] std::string death_sentence(const nlohmann::json& report);
// The frames at equal times through the run, a line for each borrower.
[[nodiscard]] std::string frames_lines(const nlohmann::json& report);
// The same as a picture.
[[nodiscard]] std::string frames_svg(const nlohmann::json& report);

// Adds what was asked of frames and lenders and is not so.
void check_expansion(const nlohmann::json& report, std::vector<std::string>& list);

}  // namespace aqua::example
