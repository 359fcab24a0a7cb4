// SPDX-License-Identifier: Apache-2.0
// Scenarios for tests: small numbers, the roofline alone, nothing to download.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/base/must.hpp"
#include "tests/tools/sim/traces.hpp"
#include "tools/sim/input/spec_json.hpp"
#include "tools/sim/report/comparison.hpp"

namespace aqua::sim::test {

using aqua::test::must;

inline Scenario small_scenario() {
  Scenario scenario;
  scenario.model = must(load_model("llama-3-8b"));
  scenario.server = must(load_server("a100"));
  scenario.kv_tokens = 20'000;
  return scenario;
}

inline RunOutcome play(const Scenario& scenario, const char* policy, const Workload& workload) {
  const Ground ground = must(resolve(scenario, {}));
  return must(simulate(ground, must(parse_policy(policy)), workload));
}

// A path below the folder that AQUA_DATA names, or empty: then skip and say so.
inline std::filesystem::path data(const char* below) {
  const char* root = std::getenv("AQUA_DATA");
  return root == nullptr || *root == '\0' ? std::filesystem::path{}
                                          : std::filesystem::path(root) / below;
}

}  // namespace aqua::sim::test
