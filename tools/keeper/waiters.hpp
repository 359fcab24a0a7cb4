// SPDX-License-Identifier: Apache-2.0
// Waiters are connections that wait for something of the keeper's to change: each has an eventfd,
// of which its client has a copy, and asks again once that is signalled.
//
// Threads: none of its own; the keeper's.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "aqua/result.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "base/wake_event.hpp"

namespace aqua::keeper {

class Waiters {
 public:
  // It waits from now on. Answers its event, to be sent with the answer.
  [[nodiscard]] Result<int> add(std::uint64_t number) {
    AQUA_ASSIGN(UniqueFd event, make_wake_event());
    return (events_[number] = std::move(event)).get();
  }
  void forget(std::uint64_t number) { events_.erase(number); }
  [[nodiscard]] bool has(std::uint64_t number) const { return events_.contains(number); }
  void wake_all() {
    for (const auto& [number, event] : events_) signal_event(event.get());
    events_.clear();
  }

 private:
  std::map<std::uint64_t, UniqueFd> events_;  // by connection
};

}  // namespace aqua::keeper
