// SPDX-License-Identifier: Apache-2.0
// What the tier's thread does: erase, write, sync, clean, in this order of urgency. It holds the
// lock between these and never during one, so that the keeper waits for no disk. Erasing comes
// first, so that the log has a segment's last generation only, and room.
#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "base/whole_io.hpp"
#include "base/xxh3.hpp"
#include "tools/keeper/disk/disk_tier.hpp"

namespace aqua::keeper {
namespace {

// Bytes that are written before they are synced, while more is pending.
constexpr std::uint64_t kMostUnsynced = std::uint64_t{64} << 20;

}  // namespace

void DiskTier::run() {
  for (;;) {
    Work work = next();
    switch (work.kind) {
      case Work::Kind::stop:
        return;
      case Work::Kind::erase:
        erase(std::move(work.keys));
        break;
      case Work::Kind::write:
        wrote(work, write(work));
        break;
      case Work::Kind::sync:
        sync();
        break;
      case Work::Kind::clean:
        clean();
        break;
    }
  }
}

DiskTier::Work DiskTier::next() {
  const MutexLock lock(mu_);
  busy_ = false;
  for (;;) {
    if (done()) settled_.notify_all();
    if (stop_) return {.kind = Work::Kind::stop};
    busy_ = true;
    if (!erases_.empty() && !erases_wait_) {
      return {.kind = Work::Kind::erase, .keys = std::exchange(erases_, {})};
    }
    if (!unsynced_.empty() && (queue_.empty() || unsynced_bytes_ >= kMostUnsynced)) {
      return {.kind = Work::Kind::sync};
    }
    if (!queue_.empty()) {
      const Id id = queue_.begin()->second;
      queue_.erase(queue_.begin());
      Entry& entry = entries_.at(id);
      entry.state = State::writing;
      return {
          .kind = Work::Kind::write, .id = id, .segment = entry.segment, .memory = entry.memory};
    }
    busy_ = false;  // nobody has to wait for cleaning
    if (may_clean_ && writable_) return {.kind = Work::Kind::clean};
    work_.wait(mu_);
  }
}

Result<void> DiskTier::still_wanted(Id id) const {
  const MutexLock lock(mu_);
  if (!stop_ && !entries_.at(id).dropped) return {};
  return Error{Code::aborted, "it was dropped meanwhile"};
}

Result<void> DiskTier::write(const Work& work) {
  const Error wrong{Code::data_loss, "its bytes are not those of the digest in its name"};
  const SegmentName& name = work.segment.name;
  Xxh3 digest;
  if (name.bytes == 0 && !matches(name, digest.value())) return wrong;
  return log_.put(key_in_log(work.segment), name.bytes,
                  [&](std::uint64_t offset, std::span<std::byte> into) -> Result<void> {
                    // Not through a mapping: bytes that cannot be read are an error, and no signal.
                    AQUA_ASSIGN(const std::size_t read, read_at(work.memory->fd.get(), offset, into,
                                                                "memory of the segment"));
                    if (read < into.size()) {
                      return Error{Code::internal, "memory of the segment: it is too short"};
                    }
                    // Its writer has it back only after it was dropped: what was read is right.
                    AQUA_TRY(still_wanted(work.id));
                    digest.add(into);
                    const bool last = offset + into.size() == name.bytes;
                    if (last && !matches(name, digest.value())) return wrong;
                    return {};
                  });
}

void DiskTier::wrote(const Work& work, const Result<void>& outcome) {
  const MutexLock lock(mu_);
  const auto found = entries_.find(work.id);
  Entry& entry = found->second;
  if (outcome.ok() && !entry.dropped) {
    entry.state = State::written;
    unsynced_.push_back(work.id);
    unsynced_bytes_ += work.segment.name.bytes;
  } else if (entry.dropped) {
    if (outcome.ok()) erases_.push_back(key_in_log(entry.segment));
    entries_.erase(found);
  } else {
    const bool full = outcome.error().code == Code::resource_exhausted;
    entry.state = full ? State::no_room : State::refused;
    const bool news = !std::exchange(entry.told, true) && !stop_;
    if (news) tell(concat(words_of(work.id), " stays in memory alone"), outcome.error());
  }
  look_at_log();
}

void DiskTier::sync() {
  const auto outcome = log_.sync();
  const MutexLock lock(mu_);
  for (const Id id : std::exchange(unsynced_, {})) {
    const auto entry = entries_.find(id);  // none: it was dropped
    if (entry == entries_.end() || entry->second.state != State::written) continue;
    entry->second.state = outcome.ok() ? State::durable : State::refused;
  }
  unsynced_bytes_ = 0;
  if (!outcome.ok()) tell("sync", outcome.error());
  look_at_log();
}

void DiskTier::erase(std::vector<std::string> keys) {
  auto outcome = Result<void>();
  std::size_t erased = 0;
  for (; erased < keys.size(); ++erased) {
    auto one = log_.erase(keys[erased]);
    const bool is_gone = one.ok() || one.error().code == Code::not_found;
    if (is_gone) continue;
    outcome = std::move(one);
    break;
  }
  // Also of some of them: that gives their room back, in which the others may be written down.
  if (erased > 0 || outcome.ok()) {
    auto synced = log_.sync();
    if (outcome.ok()) outcome = std::move(synced);
  }
  const MutexLock lock(mu_);
  if (!outcome.ok()) {
    tell("what was dropped stays on the disk, and a later keeper offers it", outcome.error());
    erases_.insert(erases_.end(), keys.begin() + static_cast<std::ptrdiff_t>(erased), keys.end());
    erases_wait_ = erased == 0 || !log_.writable();
  }
  if (erased > 0) enqueue_what_had_no_room();
  may_clean_ = true;
  look_at_log();
}

void DiskTier::enqueue_what_had_no_room() {
  for (auto& [id, entry] : entries_) {
    if (entry.state == State::no_room) enqueue(id, entry);
  }
}

void DiskTier::clean() {
  const auto cleaned = log_.clean();
  const MutexLock lock(mu_);
  may_clean_ = cleaned.ok() && *cleaned;
  if (may_clean_) enqueue_what_had_no_room();
  if (!cleaned.ok()) tell("cleaning", cleaned.error());
  look_at_log();
}

void DiskTier::look_at_log() {
  file_bytes_ = log_.file_bytes();
  if (writable_ && !log_.writable()) {
    writable_ = false;
    queue_.clear();
    erases_.clear();  // each would fail likewise, and be told each time
    for (auto& [id, entry] : entries_) {
      if (entry.state == State::pending || entry.state == State::no_room) {
        entry.state = State::refused;
      }
    }
  }
  if (decayed_ == log_.decayed()) return;
  decayed_ = log_.decayed();
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto [id, entry] = *at;
    const bool was_there = entry.state == State::durable || entry.state == State::written ||
                           entry.state == State::left;
    const bool is_gone = was_there && !log_.bytes_of(key_in_log(entry.segment));
    if (is_gone) {
      tell(words_of(id), {Code::data_loss, "it has changed on the disk"});
      if (entry.memory != nullptr && writable_) enqueue(id, at->second);
      if (!writable_) at->second.state = State::refused;
    }
    at = is_gone && entry.memory == nullptr ? entries_.erase(at) : std::next(at);
  }
}

}  // namespace aqua::keeper
