// SPDX-License-Identifier: Apache-2.0
// Timers keeps deadlines in order, one for each key. Arming a key again moves its deadline.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ledger/types.hpp"

namespace aqua::ledger {

enum class TimerKind : std::uint8_t { client, leases, reclaim };

struct TimerKey {
  TimerKind kind{};
  ClientId client;            // the producer, for a reclaim
  std::uint64_t reclaim = 0;  // for a reclaim
  friend auto operator<=>(const TimerKey&, const TimerKey&) = default;
};

class Timers {
 public:
  void arm(const TimerKey& key, Time at) {
    disarm(key);
    at_.emplace(key, at);
    order_.emplace(at, key);
  }
  void disarm(const TimerKey& key) {
    const auto found = at_.find(key);
    if (found == at_.end()) return;
    order_.erase({found->second, key});
    at_.erase(found);
  }
  // The earliest deadline. Equal ones come in the order of their keys.
  [[nodiscard]] std::optional<std::pair<Time, TimerKey>> next() const {
    if (order_.empty()) return std::nullopt;
    return *order_.begin();
  }
  friend bool operator==(const Timers&, const Timers&) = default;

 private:
  std::map<TimerKey, Time> at_;
  std::set<std::pair<Time, TimerKey>> order_;
};

}  // namespace aqua::ledger
