// SPDX-License-Identifier: Apache-2.0
// Counters are the router's numbers that only grow, kept as things happen; metrics.hpp renders
// them.
//
// Threads: every field may be changed concurrently.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "aqua/migration/move.hpp"

namespace aqua::router {

struct Counters {
  // Upper bounds of the times of moves, in seconds; one more bucket has the rest.
  static constexpr std::array<double, 14> kTimes{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075,
                                                 0.1,   0.25,   0.5,   1,    2.5,   10,   60};
  using Count = std::atomic<std::uint64_t>;

  Count answered{0}, failed{0}, gone{0}, refused{0};  // requests, by how they ended
  Count tokens{0};                                    // that passed to clients
  Count late_tokens{0};                               // of attempts that nobody hears any more
  Count slow_readers{0};  // requests ended because their client was too far behind
  struct Times {
    std::array<Count, kTimes.size() + 1> counts{};
    Count microseconds{0};

    void add(std::chrono::steady_clock::duration time) {
      const double seconds = std::chrono::duration<double>(time).count();
      std::size_t bucket = 0;
      while (bucket < kTimes.size() && seconds > kTimes[bucket]) ++bucket;
      ++counts[bucket];
      microseconds += static_cast<std::uint64_t>(seconds * 1e6);
    }
  };
  // By migration::Kind: from the order until another engine speaks; and between two tokens of the
  // client's.
  std::array<Times, 2> moves{}, pauses{};

  void moved(migration::Kind kind, std::chrono::steady_clock::duration time) {
    moves[static_cast<std::size_t>(kind)].add(time);
  }
  void paused(migration::Kind kind, std::chrono::steady_clock::duration time) {
    pauses[static_cast<std::size_t>(kind)].add(time);
  }
};

}  // namespace aqua::router
