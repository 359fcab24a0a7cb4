// SPDX-License-Identifier: Apache-2.0
#include "report/planner_goals.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/goal.hpp"
#include "samples.hpp"

namespace aqua::bench {

using nlohmann::json;

json planner_goals(const json& rows) {
  json goals = json::array();
  for (const std::string link : {"local", "host", "peer"}) {
    std::vector<double> ratios;
    std::set<std::pair<std::size_t, std::size_t>> sizes;
    for (const json& row : rows) {
      if (row.value("link", "") != link || !row.value("resolved", true)) continue;
      ratios.push_back(row["ratio"]);
      sizes.emplace(row["piece_bytes"], row["bytes"]);
    }
    if (std::ranges::none_of(rows, [&](const json& row) { return row.value("link", "") == link; }))
      continue;
    std::optional<double> middle, worst;
    if (sizes.size() >= kLeastSizes) {
      middle = median(ratios);
      worst = quantile(ratios, 1);
    }
    const std::string what = link + " link, chosen way over the best, sizes not calibrated: ";
    goals.push_back(judge(what + "median", Bound::at_most, 1.03, middle));
    goals.push_back(judge(what + "worst", Bound::at_most, 1.10, worst));
  }
  return goals;
}

}  // namespace aqua::bench
