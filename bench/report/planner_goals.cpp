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

namespace {

// What a goal says of rows that it does not count, some of `of`.
json left_out(const std::vector<double>& ratios, std::size_t of, const char* why) {
  return {{"rows", ratios.size()}, {"of", of}, {"why", why}, {"worst", quantile(ratios, 1)}};
}

}  // namespace

json planner_goals(const json& rows) {
  json goals = json::array();
  for (const std::string link : {"local", "host", "peer"}) {
    std::vector<double> ratios, too_short, otherwise;
    std::set<std::pair<std::size_t, std::size_t>> sizes;
    for (const json& row : rows) {
      if (row.value("link", "") != link) continue;
      const json ran = row.value("ran", json::object());  // by way
      if (!std::all_of(ran.begin(), ran.end(), went_as_asked)) {
        otherwise.push_back(row["ratio"]);
      } else if (!row.value("resolved", true)) {
        too_short.push_back(row["ratio"]);
      } else {
        ratios.push_back(row["ratio"]);
        sizes.emplace(row["piece_bytes"], row["bytes"]);
      }
    }
    const std::size_t all = ratios.size() + too_short.size() + otherwise.size();
    if (all == 0) continue;
    std::optional<double> middle, worst;
    if (sizes.size() >= kLeastSizes) {
      middle = median(ratios);
      worst = quantile(ratios, 1);
    }
    const std::string what = link + " link, chosen way over the best, sizes not calibrated: ";
    goals.push_back(judge(what + "median", Bound::at_most, 1.03, middle));
    goals.push_back(judge(what + "worst", Bound::at_most, 1.10, worst));
    for (json* goal : {&goals[goals.size() - 2], &goals.back()}) {
      if (!too_short.empty())
        (*goal)["left_out"].push_back(left_out(too_short, all, "shorter than the clock can tell"));
      if (!otherwise.empty())
        (*goal)["left_out"].push_back(
            left_out(otherwise, all, "another way ran than was asked for"));
    }
  }
  return goals;
}

}  // namespace aqua::bench
