// SPDX-License-Identifier: Apache-2.0
// The last events of a ledger, numbered from 1 without gaps. The oldest are forgotten.
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
  // Keeps the last `capacity` events.
  explicit EventWindow(std::size_t capacity) : capacity_(capacity) {}

  // Sets event.number.
  void append(Event event);
  // As Ledger::events: costs as much as it returns, however full the window is.
  [[nodiscard]] std::optional<std::vector<Event>> since(const ClientId& client,
                                                        std::uint64_t after) const;
  // Whom the events after `after` are for; nullopt when some of these are forgotten.
  [[nodiscard]] std::optional<std::set<ClientId>> recipients_since(std::uint64_t after) const;
  [[nodiscard]] std::uint64_t last() const noexcept { return last_; }
  // Empty when consistent.
  [[nodiscard]] std::string check() const;

 private:
  [[nodiscard]] std::uint64_t first() const noexcept { return last_ + 1 - window_.size(); }

  std::size_t capacity_;
  std::uint64_t last_ = 0;
  std::deque<Event> window_;
  std::map<ClientId, std::deque<std::uint64_t>> numbers_;  // whose events are in the window
};

}  // namespace aqua::ledger
