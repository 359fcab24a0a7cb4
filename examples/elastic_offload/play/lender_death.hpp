// SPDX-License-Identifier: Apache-2.0
// LenderDeath kills a lender's process with SIGKILL while its memory is in use, and watches the
// consumers leave that memory, which lives on as long as they have it mapped.
//
// Threads: one. The fleet outlives it.
#pragma once

#include <algorithm>
#include <optional>

#include "fleet.hpp"

namespace aqua::example {

class LenderDeath {
 public:
  explicit LenderDeath(Fleet& fleet) : fleet_(fleet) {}

  // The lender that has most in others' hands, of two or more.
  void kill(double seconds) {
    auto& producers = fleet_.producers();
    const auto chosen = std::ranges::max_element(
        producers, {}, [](const auto& producer) { return producer.stats.held_bytes; });
    seconds_ = seconds;
    producer_ = static_cast<std::size_t>(chosen - producers.begin());
    held_bytes_ = chosen->stats.held_bytes;
    fleet_.kill(*producer_);
  }
  // The consumers have leased, and use, no more than the living lend.
  [[nodiscard]] bool left() const {
    std::uint64_t used = 0, lent = 0;
    for (const auto& consumer : fleet_.consumers())
      used += std::max(consumer.stats.leased_bytes, consumer.stats.tensors.peer);
    for (const auto& producer : fleet_.producers()) lent += producer.stats.lent_bytes;
    return producer_ && used <= lent;
  }

  [[nodiscard]] const std::optional<std::size_t>& producer() const { return producer_; }
  [[nodiscard]] std::uint64_t held_bytes() const { return held_bytes_; }  // when it was killed
  [[nodiscard]] double seconds() const { return seconds_; }               // since the start

 private:
  Fleet& fleet_;
  std::optional<std::size_t> producer_{};
  std::uint64_t held_bytes_ = 0;
  double seconds_ = 0;
};

}  // namespace aqua::example
