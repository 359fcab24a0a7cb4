// SPDX-License-Identifier: Apache-2.0
// What tests ask of a table of goals.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace aqua::bench {

inline std::size_t met(const nlohmann::json& goals) {
  std::size_t n = 0;
  for (const nlohmann::json& goal : goals) n += goal["met"].get<bool>() ? 1U : 0U;
  return n;
}

// The first whose words hold this text.
inline const nlohmann::json& find(const nlohmann::json& goals, const std::string& text) {
  for (const nlohmann::json& goal : goals)
    if (goal["goal"].get<std::string>().find(text) != std::string::npos) return goal;
  throw std::runtime_error("no goal says " + text);
}

}  // namespace aqua::bench
