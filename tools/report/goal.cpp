// SPDX-License-Identifier: Apache-2.0
#include "tools/report/goal.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace aqua::report {

using nlohmann::json;

json judge(std::string goal, Bound bound, double limit, std::optional<double> measured) {
  const bool met = measured && (bound == Bound::at_least ? *measured >= limit : *measured <= limit);
  return {{"goal", std::move(goal)},
          {"limit", limit},
          {"measured", measured ? json(*measured) : json()},
          {"met", met}};
}

void print_goals(const json& goals) {
  std::size_t met = 0;
  for (const json& goal : goals) {
    if (goal.contains("left_out")) {
      std::printf("left out: %s: %s\n", goal["goal"].get<std::string>().c_str(),
                  goal["left_out"].dump().c_str());
    }
    if (goal["met"].get<bool>()) {
      ++met;
      continue;
    }
    std::printf("missed: %s: measured %s, limit %s\n", goal["goal"].get<std::string>().c_str(),
                goal["measured"].dump().c_str(), goal["limit"].dump().c_str());
  }
  std::printf("goals: %zu of %zu met\n", met, goals.size());
  std::fflush(stdout);
}

}  // namespace aqua::report
