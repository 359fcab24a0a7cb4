// SPDX-License-Identifier: Apache-2.0
#include "ledger/events.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace aqua::ledger {

void EventWindow::append(Event event) {
  event.number = ++last_;
  numbers_[event.to].push_back(event.number);
  window_.push_back(event);
  if (window_.size() <= capacity_) return;
  const auto whose = numbers_.find(window_.front().to);
  whose->second.pop_front();
  if (whose->second.empty()) numbers_.erase(whose);
  window_.pop_front();
}

std::optional<std::vector<Event>> EventWindow::since(const ClientId& client,
                                                     std::uint64_t after) const {
  if (after > last_ || after + 1 < first()) return std::nullopt;
  std::vector<Event> found;
  const auto whose = numbers_.find(client);
  if (whose == numbers_.end()) return found;
  const auto& numbers = whose->second;
  for (auto n = std::upper_bound(numbers.begin(), numbers.end(), after); n != numbers.end(); ++n) {
    found.push_back(window_[static_cast<std::size_t>(*n - first())]);
  }
  return found;
}

std::optional<std::set<ClientId>> EventWindow::recipients_since(std::uint64_t after) const {
  if (after > last_ || after + 1 < first()) return std::nullopt;
  std::set<ClientId> recipients;
  for (std::uint64_t n = after + 1; n <= last_; ++n)
    recipients.insert(window_[static_cast<std::size_t>(n - first())].to);
  return recipients;
}

std::string EventWindow::check() const {
  if (window_.size() > capacity_) return "events: window over capacity";
  if (window_.size() > last_) return "events: more than were numbered";
  std::map<ClientId, std::deque<std::uint64_t>> numbers;
  std::uint64_t expected = first();
  for (const Event& event : window_) {
    if (event.number != expected) return concat("events: ", event.number, " follows a gap");
    numbers[event.to].push_back(expected++);
  }
  return numbers == numbers_ ? "" : "events: index differs from window";
}

}  // namespace aqua::ledger
