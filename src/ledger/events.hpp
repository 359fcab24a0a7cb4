// SPDX-License-Identifier: Apache-2.0
// EventWindow keeps the last events of a ledger, numbered from 1 without gaps.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ledger/types.hpp"

namespace aqua::ledger {

class EventWindow {
 public:
  // Keeps `capacity` events and forgets the oldest first.
  explicit EventWindow(std::size_t capacity) : capacity_(capacity) {}

  // Numbers the event and adds it.
  void append(Event event);
  // The same as Ledger::events(). Its cost is that of what it returns, however full the window is.
  [[nodiscard]] std::optional<std::vector<Event>> since(const ClientId& client,
                                                        std::uint64_t after) const;
  // The clients that events after `after` are for. nullopt when some of those are forgotten.
  [[nodiscard]] std::optional<std::set<ClientId>> recipients_since(std::uint64_t after) const;
  [[nodiscard]] std::uint64_t last() const noexcept { return last_; }
  // Says what is inconsistent. Empty when nothing is.
  [[nodiscard]] std::string check() const;

 private:
  [[nodiscard]] std::uint64_t first() const noexcept { return last_ + 1 - window_.size(); }

  std::size_t capacity_;
  std::uint64_t last_ = 0;
  std::deque<Event> window_;
  // Numbers of the events in the window, by recipient.
  std::map<ClientId, std::deque<std::uint64_t>> numbers_;
};

}  // namespace aqua::ledger
