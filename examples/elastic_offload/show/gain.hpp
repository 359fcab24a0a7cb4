// SPDX-License-Identifier: Apache-2.0
// What users gain by lent memory: the two servings of a Comparison side by side, in words. Of the
// "comparison" of a report (RunRecord): {"host": Serving, "lent": Serving}.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace aqua::example {

// One of the two sides, as people are told of it.
struct GainRow {
  std::string what, host, lent, gain;
};
[[nodiscard]] std::vector<GainRow> gain_rows(const nlohmann::json& comparison);
// One sentence, which also says so where nothing was gained.
[[nodiscard]] std::string gain_sentence(const nlohmann::json& comparison);

}  // namespace aqua::example
