// SPDX-License-Identifier: Apache-2.0
// How much layer_pool_bench measures.
#pragma once

#include <chrono>

namespace aqua::bench {

struct Effort {
  unsigned rounds = 9;           // batches of steps, of each engine in turn
  unsigned few_rounds = 3;       // where many engines are compared
  unsigned steps = 12;           // in a batch, after two that do not count
  unsigned most_settling = 600;  // steps until an adaptive pool is taken as it is
  unsigned quiet = 48;           // steps without a change of frames that make it settled
  unsigned watched = 66;         // steps after the link was loaded
  double pace = 1;               // times as fast: links, and what layers compute

  // A few steps of everything, to see that it runs.
  [[nodiscard]] static Effort quick() {
    return {.rounds = 2,
            .few_rounds = 1,
            .steps = 2,
            .most_settling = 40,
            .quiet = 8,
            .watched = 16,
            .pace = 4};
  }
  [[nodiscard]] std::chrono::nanoseconds paced(std::chrono::nanoseconds time) const {
    return std::chrono::nanoseconds(
        static_cast<std::chrono::nanoseconds::rep>(static_cast<double>(time.count()) / pace));
  }
  [[nodiscard]] double paced_rate(double bytes_per_second) const { return bytes_per_second * pace; }
};

}  // namespace aqua::bench
