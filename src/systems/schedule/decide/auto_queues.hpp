// SPDX-License-Identifier: Apache-2.0
// AutoQueues holds the sequences outside, for AutoScheduler: prompts by their place in line, the
// backlog by arrival, paced answers by when their next token is due, and all by when they are
// overdue, those with a prefill ahead of them apart. An answer whose KV was dropped is no prompt,
// though it has a prefill ahead: else it would take the place of another answer at once, and this
// one the next one's.
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
    double place = 0, token_due = 0;  // seconds
    std::uint64_t overdue_from = 0;   // iteration
    Slot slot = no_slot;
    bool prefills = false;  // all of it, or what was dropped of an answer, has to be computed
  };
  struct ByArrival {
    bool operator()(const Key& a, const Key& b) const noexcept { return a.arrival < b.arrival; }
  };
  struct ByPlace {
    bool operator()(const Key& a, const Key& b) const noexcept {
      return std::tie(a.place, a.arrival) < std::tie(b.place, b.arrival);
    }
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
    by_date_[key.prefills ? 0 : 1].insert(key);
    if (key.kind == prompt) prompts_.insert(key);
    if (key.kind == paced) paced_.insert(key);
    if (key.kind == backlog) backlog_.insert(key);
  }
  // Takes a sequence out of all queues. No effect on one that is not filed.
  void take(Slot slot) {
    if (!filed(slot)) return;
    const Key key = *filed_[slot];
    by_date_[key.prefills ? 0 : 1].erase(key);
    if (key.kind == prompt) prompts_.erase(key);
    if (key.kind == paced) paced_.erase(key);
    if (key.kind == backlog) backlog_.erase(key);
    filed_[slot].reset();
  }
  [[nodiscard]] bool filed(Slot slot) const noexcept {
    return slot < filed_.size() && filed_[slot].has_value();
  }
  [[nodiscard]] const std::set<Key, ByDate>& prefills_by_date() const noexcept {
    return by_date_[0];
  }
  [[nodiscard]] const std::set<Key, ByDate>& decodes_by_date() const noexcept {
    return by_date_[1];
  }
  [[nodiscard]] const std::set<Key, ByPlace>& prompts() const noexcept { return prompts_; }
  [[nodiscard]] const std::set<Key, ByToken>& paced_answers() const noexcept { return paced_; }
  [[nodiscard]] const std::set<Key, ByArrival>& backlogged() const noexcept { return backlog_; }

 private:
  std::set<Key, ByDate> by_date_[2];  // who prefills, who decodes
  std::set<Key, ByPlace> prompts_;
  std::set<Key, ByArrival> backlog_;
  std::set<Key, ByToken> paced_;
  std::vector<std::optional<Key>> filed_;  // by slot
};

}  // namespace aqua::schedule
