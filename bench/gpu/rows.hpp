// SPDX-License-Identifier: Apache-2.0
// What was timed of one way, and the rows of a report that are made of it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace aqua::bench {

struct Samples {
  std::string name;
  double bytes = 0;
  bool gated = true;  // false: the driver's queue is too short; `seconds` contain submission
  std::vector<double> seconds{};            // by events, behind the gate where gated
  std::vector<double> ungated{};            // by events, without the gate
  std::vector<double> posted{};             // by the host's clock, posting included
  std::string chosen{};                     // empty: nothing to choose
  std::optional<device::CopyCounts> ran{};  // the last time, of ways of the library
};

// Rates with quartiles, and the ratio to the first of `all`, which is the baseline: both behind the
// gate or both without it, whichever both have ("gated"). Those with posting begin with "posted_".
// Also printed.
[[nodiscard]] nlohmann::json rows(const std::vector<Samples>& all, const nlohmann::json& labels);

}  // namespace aqua::bench
