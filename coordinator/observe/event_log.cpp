// SPDX-License-Identifier: Apache-2.0
#include "coordinator/observe/event_log.hpp"

#include <string>

namespace aqua::coordinator {
namespace {

void name_holder(wire::StoryEntry& entry, const std::deque<wire::StoryEntry>& earlier,
                 const ledger::Ledger& ledger) {
  if (!entry.holder) return;
  if (const auto client = ledger.clients().find(*entry.holder); client != ledger.clients().end()) {
    entry.holder_name = client->second.info.name;
    entry.holder_pid = client->second.info.pid;
    return;
  }
  for (auto known = earlier.rbegin(); known != earlier.rend(); ++known) {
    if (known->holder != entry.holder) continue;
    entry.holder_name = known->holder_name;
    entry.holder_pid = known->holder_pid;
    return;
  }
}

}  // namespace

void EventLog::add(const ledger::SlabChange& change, const ledger::Ledger& ledger) {
  append(change.slab, change.bytes,
         {.at = change.at,
          .event = std::string(to_string(change.event)),
          .from = change.from,
          .to = change.to,
          .generation = change.generation,
          .holder = change.holder,
          .holder_name = {},
          .holder_pid = 0,
          .reclaim = change.reclaim},
         ledger);
}

void EventLog::add_late(const ledger::SlabId& slab, const ledger::Reclaim& reclaim,
                        const ledger::Ledger& ledger) {
  const auto row = ledger.slabs().find(slab);
  if (row == ledger.slabs().end()) return;  // came back in the same moment
  append(slab, row->second.bytes,
         {.at = reclaim.ended,
          .event = "late",
          .from = row->second.state,
          .to = row->second.state,
          .generation = row->second.generation,
          .holder = row->second.holder,
          .holder_name = {},
          .holder_pid = 0,
          .reclaim = reclaim.id},
         ledger);
}

void EventLog::append(const ledger::SlabId& slab, std::uint64_t bytes, wire::StoryEntry entry,
                      const ledger::Ledger& ledger) {
  const auto [at, is_new] = stories_.try_emplace(slab);
  Story& story = at->second;
  if (is_new) {
    story.touched = touched_.insert(touched_.end(), slab);
  } else {
    touched_.splice(touched_.end(), touched_, story.touched);
  }
  name_holder(entry, story.entries, ledger);
  story.bytes = bytes;
  story.entries.push_back(std::move(entry));
  ++size_;
  if (story.entries.size() > limits_.per_slab) {
    story.entries.pop_front();
    ++story.forgotten;
    --size_;
  }
  while (size_ > limits_.in_all) forget_one();
}

void EventLog::forget_one() {
  const auto oldest = stories_.find(touched_.front());
  oldest->second.entries.pop_front();
  ++oldest->second.forgotten;
  --size_;
  if (!oldest->second.entries.empty()) return;
  touched_.pop_front();
  stories_.erase(oldest);
}

std::optional<wire::SlabStory> EventLog::story(const ledger::SlabId& slab) const {
  const auto found = stories_.find(slab);
  if (found == stories_.end()) return std::nullopt;
  const Story& story = found->second;
  return wire::SlabStory{.epoch = {},
                         .slab = slab,
                         .bytes = story.bytes,
                         .forgotten = story.forgotten,
                         .entries = {story.entries.begin(), story.entries.end()}};
}

}  // namespace aqua::coordinator
