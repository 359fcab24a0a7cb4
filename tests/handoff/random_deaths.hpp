// SPDX-License-Identifier: Apache-2.0
// Givers, takers and a keeper that die at random moments of whatever they do.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/handoff/answer_of_any.hpp"
#include "tests/keeper/kept_descriptors.hpp"

namespace aqua::test {

// Two members that give and two that take, until all have died. `join(gives)` gives a new one,
// which is told "give 1000000" or "serve 1000000" then, and says "gave ..." or "served ..." once
// for each parcel; anything else fails the test, such as what a taker says of a wrong byte. Of ten
// deaths one is the keeper's, of which every member says "no keeper". `served` counts what was
// taken.
inline void die_at_random(KeeperProcess& keeper,
                          const std::function<std::unique_ptr<PeerProgram>(bool gives)>& join,
                          int& served) {
  std::mt19937_64 random(std::random_device{}());
  const std::uint64_t seed = random();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random.seed(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto counts = [&](const std::string& said) {
    served += said.starts_with("served ") ? 1 : 0;
    return said.starts_with("gave ") || said.starts_with("served ");
  };
  std::vector<std::unique_ptr<PeerProgram>> members(4);  // the first two give
  const int rounds = random_rounds();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] != nullptr) continue;
      members[i] = join(i < 2);
      members[i]->post(i < 2 ? "give 1000000" : "serve 1000000");
    }
    for (std::uint64_t i = below(20); i > 0; --i) {
      const std::string said = answer_of_any(members);
      ASSERT_TRUE(counts(said)) << said;
    }
    const std::size_t victim = below(10);
    if (victim < 9) {
      members[victim % 4].reset();
      continue;
    }
    keeper.kill();
    keeper.start();
    for (auto& member : members) {  // each finds out, and says so when it has heard of it
      std::string said;
      do {
        said = member->answer();
      } while (counts(said));
      ASSERT_EQ(said, "no keeper");
      member.reset();
    }
  }
}

}  // namespace aqua::test
