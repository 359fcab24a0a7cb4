// SPDX-License-Identifier: Apache-2.0
// A keeper for tests of replicas, and what a stage writes to it.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "aqua/handoff/segments.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/kv_stream/act/replica_stage.hpp"

namespace aqua::test {

class ReplicasFixture : public ::testing::Test {
 protected:
  enum class Pace : std::uint8_t { fast, each_step_is_held };

  // Writes a prompt, then a token a step, and waits until all is held.
  static void write(ReplicaStage& stage, std::uint64_t sequence, const Ids& ids,
                    std::uint32_t prompt, Pace pace = Pace::fast) {
    Ids so_far(ids.begin(), ids.begin() + prompt);
    (void)value_of(stage.step(sequence, so_far, 0));
    while (so_far.size() < ids.size()) {
      const auto first = static_cast<std::uint32_t>(so_far.size());
      if (pace == Pace::each_step_is_held) stage.await(sequence, first);
      so_far.push_back(ids[first]);
      (void)value_of(stage.step(sequence, so_far, first));
    }
    stage.await(sequence, static_cast<std::uint32_t>(ids.size()));
  }
  [[nodiscard]] std::size_t kept() const { return list_segments(keeper_.socket()).value().size(); }

  mutable KeeperProcess keeper_;
};

}  // namespace aqua::test
