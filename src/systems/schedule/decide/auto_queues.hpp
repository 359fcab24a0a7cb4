// SPDX-License-Identifier: Apache-2.0
// AutoQueues holds the sequences outside, for AutoScheduler: prompts and the backlog by arrival,
// paced answers by when their next token is due, and prompts and answers by when they are overdue.
//
// Threads: not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "systems/schedule/decide/sequence_table.hpp"

namespace aqua::schedule {

class AutoQueues {
 public:
  enum Class : std::uint8_t { prompt, paced, backlog };
  struct Key {
    Class kind = prompt;
    std::uint64_t arrival = 0;
    double token_due = 0;            // seconds
    std::uint64_t overdue_from = 0;  // iteration
    Slot slot = no_slot;
  };
  struct ByArrival {
    bool operator()(const Key& a, const Key& b) const noexcept { return a.arrival < b.arrival; }
  };
  struct ByToken {
    bool operator()(const Key& a, const Key& b) const noexcept {
      return std::tie(a.token_due, a.arrival) < std::tie(b.token_due, b.arrival);
    }
  };
  struct ByDate {
    bool operator()(const Key& a, const Key& b) const noexcept {
      return std::tie(a.overdue_from, a.arrival) < std::tie(b.overdue_from, b.arrival);
    }
  };

  void file(const Key& key) {
    if (filed_.size() <= key.slot) filed_.resize(key.slot + std::size_t{1});
    filed_[key.slot] = key;
    by_date_[key.kind != prompt].insert(key);
    if (key.kind == prompt) prompts_.insert(key);
    if (key.kind == paced) paced_.insert(key);
    if (key.kind == backlog) backlog_.insert(key);
  }
  // Takes a sequence out of all queues. No effect on one that is not filed.
  void take(Slot slot) {
    if (!filed(slot)) return;
    const Key key = *filed_[slot];
    by_date_[key.kind != prompt].erase(key);
    if (key.kind == prompt) prompts_.erase(key);
    if (key.kind == paced) paced_.erase(key);
    if (key.kind == backlog) backlog_.erase(key);
    filed_[slot].reset();
  }
  [[nodiscard]] bool filed(Slot slot) const noexcept {
    return slot < filed_.size() && filed_[slot].has_value();
  }
  [[nodiscard]] const std::set<Key, ByDate>& prompts_by_date() const noexcept {
    return by_date_[0];
  }
  [[nodiscard]] const std::set<Key, ByDate>& answers_by_date() const noexcept {
    return by_date_[1];
  }
  [[nodiscard]] const std::set<Key, ByArrival>& prompts() const noexcept { return prompts_; }
  [[nodiscard]] const std::set<Key, ByToken>& paced_answers() const noexcept { return paced_; }
  [[nodiscard]] const std::set<Key, ByArrival>& backlogged() const noexcept { return backlog_; }

 private:
  std::set<Key, ByDate> by_date_[2];  // of prompts, of answers
  std::set<Key, ByArrival> prompts_, backlog_;
  std::set<Key, ByToken> paced_;
  std::vector<std::optional<Key>> filed_;  // by slot
};

}  // namespace aqua::schedule
