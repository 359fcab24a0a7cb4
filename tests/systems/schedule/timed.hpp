// SPDX-License-Identifier: Apache-2.0
// An engine with a clock, for tests of auto.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "tests/systems/schedule/engine.hpp"

namespace aqua::schedule::test {

// Room for four answers of 40 tokens.
inline SchedulerOptions options(double seconds_per_token) {
  return {.budget_tokens = 64,
          .slice_iterations = 8,
          .min_prefill_tokens = 16,
          .seconds_per_token = seconds_per_token,
          .block_tokens = 4,
          .device_blocks = 40};
}

// An engine whose iterations take ten milliseconds, and which tells the time.
class Timed {
 public:
  explicit Timed(const SchedulerOptions& options) : engine("auto", options) {}
  // `stall`: nothing is computed for so long while copies are under way.
  void step(double iteration = 0.01, double stall = 0) {
    EXPECT_TRUE(engine.scheduler().set_time(now).ok());
    while (stall > 0 && engine.plan().moves()) {
      now += stall;
      EXPECT_TRUE(engine.scheduler().set_time(now).ok());
      for (const std::uint64_t id : engine.copies()) engine.end_copy(id);
    }
    (void)engine.step();
    now += iteration;
    for (const auto& [id, s] : engine.sequences()) {
      if (s.generated > 0 && !began.contains(id)) began[id] = {now, s.generated};
    }
  }
  // Seconds that the last token so far is behind the pace that began with the first; of the worst.
  double behind(std::uint64_t id, double seconds_per_token) const {
    const auto& [at, tokens] = began.at(id);
    const std::uint32_t since = engine.sequences().at(id).generated - tokens;
    return now - at - since * seconds_per_token;
  }

  double now = 0;
  std::map<std::uint64_t, std::pair<double, std::uint32_t>> began{};
  Engine engine;
};

}  // namespace aqua::schedule::test
