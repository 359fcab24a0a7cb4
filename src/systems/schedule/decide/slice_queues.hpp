// SPDX-License-Identifier: Apache-2.0
// SliceQueues holds the sequences that may be dealt a place in a slice, in two classes (prefill and
// decode) and in two orders: least rank first, and first due first (cfs). Members of the running
// slice are in none.
//
// Threads: not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "systems/schedule/decide/sequence_table.hpp"

namespace aqua::schedule {

class SliceQueues {
 public:
  enum Class : std::uint8_t { prefill, decode };
  struct Key {
    double rank = 0;            // least first …
    std::uint64_t since = 0;    // … then who waits longest: iteration of its last service …
    std::uint64_t arrival = 0;  // … then who came first
    std::uint64_t due = 0;      // iteration from which it is overdue
    Slot slot = no_slot;
  };
  struct ByRank {
    bool operator()(const Key& a, const Key& b) const noexcept {
      return std::tie(a.rank, a.since, a.arrival) < std::tie(b.rank, b.since, b.arrival);
    }
  };
  struct ByDue {
    bool operator()(const Key& a, const Key& b) const noexcept {
      return std::tie(a.due, a.arrival) < std::tie(b.due, b.arrival);
    }
  };
  using RankQueue = std::set<Key, ByRank>;
  using DueQueue = std::set<Key, ByDue>;

  void file(Class kind, const Key& key) {
    if (filed_.size() <= key.slot) filed_.resize(key.slot + std::size_t{1});
    filed_[key.slot] = {kind, key};
    by_rank_[kind].insert(key);
    by_due_[kind].insert(key);
  }
  // Takes a sequence out of all queues. No effect on one that is not filed.
  void take(Slot slot) {
    if (!filed(slot)) return;
    const auto& [kind, key] = *filed_[slot];
    by_rank_[kind].erase(key);
    by_due_[kind].erase(key);
    filed_[slot].reset();
  }
  [[nodiscard]] bool filed(Slot slot) const noexcept {
    return slot < filed_.size() && filed_[slot].has_value();
  }
  [[nodiscard]] const Key& key(Slot slot) const noexcept { return filed_[slot]->second; }
  [[nodiscard]] const RankQueue& by_rank(Class kind) const noexcept { return by_rank_[kind]; }
  [[nodiscard]] const DueQueue& by_due(Class kind) const noexcept { return by_due_[kind]; }
  // The least rank in both classes; `none` when nothing is filed.
  [[nodiscard]] double least_rank(double none) const noexcept {
    double least = std::numeric_limits<double>::infinity();
    for (const RankQueue& queue : by_rank_) {
      if (!queue.empty()) least = std::min(least, queue.begin()->rank);
    }
    return empty() ? none : least;
  }
  [[nodiscard]] bool empty() const noexcept {
    return by_rank_[prefill].empty() && by_rank_[decode].empty();
  }

 private:
  std::array<RankQueue, 2> by_rank_;
  std::array<DueQueue, 2> by_due_;
  std::vector<std::optional<std::pair<Class, Key>>> filed_;  // by slot
};

}  // namespace aqua::schedule
