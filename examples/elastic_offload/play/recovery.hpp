// SPDX-License-Identifier: Apache-2.0
// Recovery follows one consumer from a reclaim on: it gives back lent memory, is lent some again,
// and uses it: by what is brought up from host memory, or by what is preempted next.
//
// Threads: one.
#pragma once

#include "stats.hpp"

namespace aqua::example {

class Recovery {
 public:
  // The consumer's words, from the moment of the reclaim on.
  void note(const ConsumerStats& stats);

  // Leased after it had given some back.
  [[nodiscard]] bool leased_again() const { return again_; }
  // Since then, 0 before.
  [[nodiscard]] std::uint64_t promotions() const {
    return again_ ? now_.promotions - then_.promotions : 0;
  }
  [[nodiscard]] std::uint64_t bytes_used() const { return again_ ? used(now_) - used(then_) : 0; }

 private:
  [[nodiscard]] static std::uint64_t used(const ConsumerStats& stats) {
    return stats.promoted_bytes + stats.swap.offloaded.peer;
  }

  bool began_ = false, gave_back_ = false, again_ = false;
  ConsumerStats then_;  // when it last had the least
  ConsumerStats now_;
};

}  // namespace aqua::example
