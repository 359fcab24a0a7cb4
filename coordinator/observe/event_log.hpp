// SPDX-License-Identifier: Apache-2.0
// EventLog remembers what happened to each slab, for people who ask why it is where it is.
// Bounded: the last entries of a slab, and of all slabs together; the slab that nothing has
// happened to for longest forgets first. A slab that went home keeps its story until then.
//
// Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>

#include "ledger/ledger.hpp"
#include "wire/observation.hpp"

namespace aqua::coordinator {

class EventLog {
 public:
  struct Limits {
    std::size_t per_slab = 64;
    std::size_t in_all = 32768;
  };
  EventLog() : EventLog(Limits{}) {}
  explicit EventLog(Limits limits) : limits_(limits) {}

  // `ledger` is asked who the holder is; of one that is gone, what an earlier entry said.
  void add(const ledger::SlabChange& change, const ledger::Ledger& ledger);
  // A reclaim ended without this slab.
  void add_late(const ledger::SlabId& slab, const ledger::Reclaim& reclaim,
                const ledger::Ledger& ledger);

  // nullopt: nothing is remembered of it. Its epoch is the caller's to set.
  [[nodiscard]] std::optional<wire::SlabStory> story(const ledger::SlabId& slab) const;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Story {
    std::deque<wire::StoryEntry> entries;
    std::uint64_t bytes = 0;
    std::uint64_t forgotten = 0;
    std::list<ledger::SlabId>::iterator touched;
  };
  void append(const ledger::SlabId& slab, std::uint64_t bytes, wire::StoryEntry entry,
              const ledger::Ledger& ledger);
  void forget_one();

  const Limits limits_;
  std::size_t size_ = 0;  // entries in all
  std::map<ledger::SlabId, Story> stories_;
  std::list<ledger::SlabId> touched_;  // the longest untouched first
};

}  // namespace aqua::coordinator
