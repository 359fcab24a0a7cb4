// SPDX-License-Identifier: Apache-2.0
// How a scheduler shared the device in a run, for reports: the ways by name and how often it
// switched to each. `auto` alone switches.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "aqua/schedule/scheduler.hpp"

namespace aqua::example {

using Switches = std::map<std::string, std::uint64_t>;

// Ways that were never switched to are left out.
[[nodiscard]] inline Switches switches_of(const schedule::SchedulerStatus& status) {
  Switches switches;
  for (const schedule::Sharing each : schedule::kSharings) {
    const std::uint64_t times = status.switched_to[static_cast<std::size_t>(each)];
    if (times > 0) switches[std::string(to_string(each))] = times;
  }
  return switches;
}

// A line for each way: "switched to fair 12 times: more answer than fit, …".
[[nodiscard]] inline std::string sharing_text(const Switches& switches) {
  std::string text;
  for (const schedule::Sharing each : schedule::kSharings) {
    const auto found = switches.find(std::string(to_string(each)));
    if (found == switches.end()) continue;
    text += "switched to " + found->first + " " + std::to_string(found->second) +
            (found->second == 1 ? " time: " : " times: ") + std::string(why(each)) + "\n";
  }
  return text;
}

}  // namespace aqua::example
