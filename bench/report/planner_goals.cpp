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
    std::vector<double> ratios, left_out;
    std::set<std::pair<std::size_t, std::size_t>> sizes;
    for (const json& row : rows) {
      const json ran = row.value("ran", json::object());  // by way
      if (row.value("link", "") != link) continue;
      if (!std::all_of(ran.begin(), ran.end(), went_as_asked)) continue;
      if (!row.value("resolved", true)) {
        left_out.push_back(row["ratio"]);
        continue;
      }
      ratios.push_back(row["ratio"]);
      sizes.emplace(row["piece_bytes"], row["bytes"]);
    }
    if (ratios.empty() && left_out.empty()) continue;
    std::optional<double> middle, worst;
    if (sizes.size() >= kLeastSizes) {
      middle = median(ratios);
      worst = quantile(ratios, 1);
    }
    const std::string what = link + " link, chosen way over the best, sizes not calibrated: ";
    goals.push_back(judge(what + "median", Bound::at_most, 1.03, middle));
    goals.push_back(judge(what + "worst", Bound::at_most, 1.10, worst));
    if (left_out.empty()) continue;
    for (json* goal : {&goals[goals.size() - 2], &goals.back()}) {
      (*goal)["left_out"] = {{"rows", left_out.size()},
                             {"of", left_out.size() + ratios.size()},
                             {"why", "shorter than the clock can tell"},
                             {"worst", quantile(left_out, 1)}};
    }
  }
  return goals;
}

}  // namespace aqua::bench
