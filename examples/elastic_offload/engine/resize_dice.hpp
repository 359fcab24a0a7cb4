// SPDX-License-Identifier: Apache-2.0
// ResizeDice says by chance, the same for the same seed, to how many frames to change, when, and
// how: after the scheduler has made room, or at once, so that sequences must go.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <random>

namespace aqua::example {

class ResizeDice {
 public:
  // From `least` to `most` frames, of which there are two or more.
  ResizeDice(std::uint32_t least, std::uint32_t most, std::uint64_t seed)
      : least_(least), most_(most), random_(seed) {}

  // Others than there are.
  [[nodiscard]] std::uint32_t frames(std::uint32_t now) {
    const std::uint32_t roll = least_ + below(most_ - least_ + (inside(now) ? 0 : 1));
    return inside(now) && roll >= now ? roll + 1 : roll;
  }
  // Steps from a change to the next.
  [[nodiscard]] std::uint32_t steps() { return 1 + below(kMostSteps); }
  [[nodiscard]] bool at_once() { return below(2) == 0; }

 private:
  static constexpr std::uint32_t kMostSteps = 4;
  [[nodiscard]] bool inside(std::uint32_t frames) const {
    return frames >= least_ && frames <= most_;
  }
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(random_() % bound);
  }

  std::uint32_t least_, most_;
  std::mt19937_64 random_;
};

}  // namespace aqua::example
