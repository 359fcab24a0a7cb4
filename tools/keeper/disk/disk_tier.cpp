// SPDX-License-Identifier: Apache-2.0
// What the keeper asks of its disk tier. disk_thread.cpp has what the tier does meanwhile.
#include "tools/keeper/disk/disk_tier.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "base/whole_io.hpp"
#include "base/xxh3.hpp"

namespace aqua::keeper {
namespace {

// Cleaning takes a file's worth of room, so files are small beside the quota.
constexpr std::uint64_t kMostOfFile = std::uint64_t{256} << 20;
constexpr std::uint64_t kFilesOfQuota = 8;

Result<LoggedSegment> segment_in_log(const std::string& path, std::string_view key,
                                     std::uint64_t bytes) {
  if (auto segment = segment_of(key, bytes)) return *std::move(segment);
  return Error{Code::failed_precondition, concat(path, ": '", key, "' in the log is no segment")};
}

}  // namespace

DiskTier::DiskTier(std::string path, BlobLog log, std::uint64_t quota_bytes)
    : path_(std::move(path)), quota_bytes_(quota_bytes), log_(std::move(log)) {
  file_bytes_ = log_.file_bytes();
}

Result<std::unique_ptr<DiskTier>> DiskTier::open(std::string path,
                                                 std::unique_ptr<LogDirectory> directory,
                                                 std::uint64_t quota_bytes) {
  const auto check = [&](std::string_view key, std::uint64_t bytes) -> Result<void> {
    AQUA_TRY(segment_in_log(path, key, bytes));
    return {};
  };
  AQUA_ASSIGN(BlobLog log,
              BlobLog::open(std::move(directory),
                            {.most_bytes = quota_bytes,
                             .file_bytes = std::min(kMostOfFile, quota_bytes / kFilesOfQuota)},
                            check));
  std::unique_ptr<DiskTier> tier(new DiskTier(std::move(path), std::move(log), quota_bytes));
  AQUA_TRY(tier->find_left());
  return tier;
}

Result<void> DiskTier::find_left() {
  const MutexLock lock(mu_);
  for (const std::string& key : log_.names()) {
    AQUA_ASSIGN(LoggedSegment segment, segment_in_log(path_, key, log_.bytes_of(key).value_or(0)));
    const Id id = id_of(segment.name);
    entries_[id] = {.segment = std::move(segment), .memory = {}, .state = State::left};
  }
  // A later generation tells that this one was dropped: the erase of it has failed.
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto later = std::next(at);
    const bool was_dropped = later != entries_.end() && later->first.number == at->first.number;
    if (was_dropped) erases_.push_back(key_in_log(at->second.segment));
    at = was_dropped ? entries_.erase(at) : later;
  }
  if (log_.cut_bytes() != 0) {
    std::fprintf(stderr, "aqua-keeper: disk: %llu bytes of what was being written are cut off\n",
                 static_cast<unsigned long long>(log_.cut_bytes()));
  }
  return {};
}

DiskTier::~DiskTier() {
  {
    const MutexLock lock(mu_);
    stop_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<void> DiskTier::read_into(const LoggedSegment& segment, int fd) {
  Xxh3 digest;
  auto filled = Result<void>();
  std::uint64_t offset = 0;
  AQUA_TRY(log_.read(key_in_log(segment), [&](std::span<const std::byte> piece) {
    digest.add(piece);
    if (filled.ok()) filled = write_at(fd, offset, piece, "memory for what was on the disk");
    offset += piece.size();
  }));
  AQUA_TRY(std::move(filled));
  if (matches(segment.name, digest.value())) return {};
  return Error{Code::data_loss, "its bytes on the disk are not those of its digest"};
}

void DiskTier::offer_all(const Offer& offer) {
  const MutexLock lock(mu_);  // nobody else is there yet
  SegmentSum unplaced;
  Error why;
  for (auto& [id, entry] : entries_) {
    const LoggedSegment& segment = entry.segment;
    auto memory = offer(segment, [&](int fd) { return read_into(segment, fd); });
    if (memory.ok()) {
      entry.memory = *std::move(memory);
      entry.state = State::durable;
    } else if (memory.error().code == Code::resource_exhausted) {
      ++unplaced.segments;
      unplaced.bytes += segment.name.bytes;
      why = memory.error();
    } else {
      tell(concat(words_of(id), " stays on the disk alone"), memory.error());
    }
  }
  if (unplaced.segments == 0) return;
  tell(concat("segments that stay on the disk alone: ", unplaced.segments, ", of ", unplaced.bytes,
              " bytes in all"),
       why);
}

std::string DiskTier::words_of(Id id) {
  return concat("segment ", id.number, " of generation ", id.generation);
}

void DiskTier::start() {
  thread_ = std::thread([this] { run(); });
}

void DiskTier::enqueue(Id id, Entry& entry) {
  entry.state = State::pending;
  entry.turn = ++last_turn_;
  queue_[entry.turn] = id;
}

void DiskTier::committed(const SegmentName& name, Memory memory,
                         std::optional<SegmentOrigin> copy_of) {
  {
    const MutexLock lock(mu_);
    const Id id = id_of(name);
    Entry& entry =
        entries_[id] = {.segment = {name, std::move(copy_of)}, .memory = std::move(memory)};
    if (writable_) {
      enqueue(id, entry);
    } else {
      entry.state = State::refused;
    }
    erases_wait_ = false;
  }
  work_.notify_all();
}

bool DiskTier::dropped(std::uint64_t number, std::uint64_t generation) {
  {
    const MutexLock lock(mu_);
    const auto found = entries_.find({number, generation});
    if (found == entries_.end() || found->second.dropped) return false;
    Entry& entry = found->second;
    if (entry.state == State::writing) {
      entry.dropped = true;
      return true;
    }
    const bool in_log = entry.state == State::written || entry.state == State::durable ||
                        entry.state == State::left;
    if (in_log && writable_) erases_.push_back(key_in_log(entry.segment));
    if (entry.state == State::pending) queue_.erase(entry.turn);
    entries_.erase(found);
    erases_wait_ = false;
  }
  work_.notify_all();
  return true;
}

bool DiskTier::durable(std::uint64_t number, std::uint64_t generation) const {
  const MutexLock lock(mu_);
  const auto found = entries_.find({number, generation});
  return found != entries_.end() && found->second.state == State::durable;
}

SegmentDisk DiskTier::status() const {
  const MutexLock lock(mu_);
  SegmentDisk disk{.directory = path_, .error = error_, .writes = writable_};
  disk.quota_bytes = quota_bytes_;
  disk.file_bytes = file_bytes_;
  for (const auto& [id, entry] : entries_) {
    if (entry.dropped) continue;
    SegmentSum& sum = entry.state == State::durable ? disk.durable
                      : entry.state == State::left  ? disk.left
                      : entry.state == State::no_room || entry.state == State::refused
                          ? disk.memory_only
                          : disk.pending;
    ++sum.segments;
    sum.bytes += entry.segment.name.bytes;
  }
  return disk;
}

bool DiskTier::done() const {
  const bool erased = erases_.empty() || erases_wait_;
  return queue_.empty() && unsynced_.empty() && erased && !busy_;
}

bool DiskTier::wait_until_written(std::chrono::milliseconds patience) const {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const MutexLock lock(mu_);
  while (!done()) {
    if (!settled_.wait_until(mu_, deadline)) return done();
  }
  return true;
}

void DiskTier::tell(std::string_view what, const Error& error) {
  error_ = concat(what, ": ", error.message);
  std::fprintf(stderr, "aqua-keeper: disk: %s\n", error_.c_str());
}

}  // namespace aqua::keeper
