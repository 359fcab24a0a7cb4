// SPDX-License-Identifier: Apache-2.0
// DiskTier keeps committed segments on a disk as well, so that they are there when the keeper or
// the machine has been started anew. Segments are written behind the keeper's back, the first to be
// committed first, on a thread of the tier's: committed() and dropped() wait for no disk.
//
//   committed() -> pending -> being written -> written --sync--> durable
//                     |             |
//                     '-------------'--> memory only: no room for it, or the disk refused
//
// Durable is what is there after a power cut. What does not fit into the quota or onto the disk is
// tried again when something has been erased, and when a file has been cleaned. A segment that is
// dropped while it is being written is not written: its writer may get it back, and change it.
//
// Bytes that are not those of the digest in a segment's name are neither written nor offered.
//
// Threads: open() and offer_all() come before start(). Behind it any may call committed(),
//          dropped(), durable(), status() and wait_until_written(); but for the last, which says
//          so, none of them waits for the disk.
// Owns:    the log, and copies of descriptors for as long as their segments are kept.
// Errors:  of writing are told by status(), since nobody waits for it, and on stderr.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "aqua/handoff/segment.hpp"
#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "tools/keeper/disk/blob_log.hpp"
#include "tools/keeper/disk/segment_key.hpp"
#include "tools/keeper/kept_slab.hpp"

namespace aqua::keeper {

class DiskTier {
 public:
  using Memory = std::shared_ptr<const KeptSlab>;

  // `path` is for people. Errors: as BlobLog::open(); failed_precondition: something in the log is
  // no segment.
  [[nodiscard]] static Result<std::unique_ptr<DiskTier>> open(
      std::string path, std::unique_ptr<LogDirectory> directory, std::uint64_t quota_bytes);
  ~DiskTier();  // does not wait for what is pending
  DiskTier(const DiskTier&) = delete;
  DiskTier& operator=(const DiskTier&) = delete;

  // Offers all that an earlier keeper left, by number. `offer` makes memory, has it filled, and
  // keeps it if it was. What it refuses, or cannot be read, stays in the log and is told (all that
  // there is no room for, resource_exhausted, as one sum): it is offered again by a later keeper,
  // or dropped.
  using Fill = std::function<Result<void>(int fd)>;
  using Offer = std::function<Result<Memory>(const LoggedSegment&, const Fill&)>;
  void offer_all(const Offer& offer);
  void start();

  void committed(const SegmentName& name, Memory memory, std::optional<SegmentOrigin> copy_of = {});
  // False: the tier knows no such segment. What is read of it from now on is thrown away.
  bool dropped(std::uint64_t number, std::uint64_t generation);
  [[nodiscard]] bool durable(std::uint64_t number, std::uint64_t generation) const;
  [[nodiscard]] SegmentDisk status() const;
  // Blocks until nothing is pending, and what was dropped is erased. False: the patience has ended
  // first.
  [[nodiscard]] bool wait_until_written(std::chrono::milliseconds patience) const;

 private:
  struct Id {
    std::uint64_t number = 0, generation = 0;
    friend auto operator<=>(const Id&, const Id&) = default;
  };
  enum class State : std::uint8_t { pending, writing, written, durable, no_room, refused, left };
  struct Entry {
    LoggedSegment segment;
    Memory memory;  // none: it is `left`
    State state = State::pending;
    std::uint64_t turn = 0;  // in queue_, while it is pending
    bool dropped = false;    // while it was being written
    bool told = false;       // that it stays in memory alone
  };
  // What the thread does next.
  struct Work {
    enum class Kind : std::uint8_t { stop, erase, write, sync, clean } kind = Kind::stop;
    std::vector<std::string> keys{};  // to erase
    Id id{};                          // to write
    LoggedSegment segment{};
    Memory memory{};
  };
  using Entries = std::map<Id, Entry>;

  DiskTier(std::string path, BlobLog log, std::uint64_t quota_bytes);

  static Id id_of(const SegmentName& name) { return {name.number, name.generation}; }
  [[nodiscard]] static std::string words_of(Id id);
  [[nodiscard]] static std::string key_in_log(const LoggedSegment& segment) {
    return key_of(segment.name, segment.copy_of);
  }
  [[nodiscard]] Result<void> find_left() AQUA_EXCLUDES(mu_);
  [[nodiscard]] Result<void> read_into(const LoggedSegment& segment, int fd);

  void run();
  [[nodiscard]] Work next() AQUA_EXCLUDES(mu_);
  [[nodiscard]] Result<void> write(const Work& work) AQUA_EXCLUDES(mu_);
  [[nodiscard]] Result<void> still_wanted(Id id) const AQUA_EXCLUDES(mu_);
  void wrote(const Work& work, const Result<void>& outcome) AQUA_EXCLUDES(mu_);
  void erase(std::vector<std::string> keys) AQUA_EXCLUDES(mu_);
  void sync() AQUA_EXCLUDES(mu_);
  void clean() AQUA_EXCLUDES(mu_);
  void enqueue(Id id, Entry& entry) AQUA_REQUIRES(mu_);
  // There may be room for it now.
  void enqueue_what_had_no_room() AQUA_REQUIRES(mu_);
  void tell(std::string_view what, const Error& error) AQUA_REQUIRES(mu_);
  // Takes over what the log says of itself, and writes again what it has found decayed.
  void look_at_log() AQUA_REQUIRES(mu_);
  [[nodiscard]] bool done() const AQUA_REQUIRES(mu_);

  const std::string path_;
  const std::uint64_t quota_bytes_;
  BlobLog log_;  // the thread's, once that has started

  mutable Mutex mu_;
  mutable CondVar work_;     // there is something to do
  mutable CondVar settled_;  // there is nothing more to do
  Entries entries_ AQUA_GUARDED_BY(mu_);
  std::map<std::uint64_t, Id> queue_ AQUA_GUARDED_BY(mu_);  // by turn
  std::uint64_t last_turn_ AQUA_GUARDED_BY(mu_) = 0;
  std::vector<Id> unsynced_ AQUA_GUARDED_BY(mu_);
  std::uint64_t unsynced_bytes_ AQUA_GUARDED_BY(mu_) = 0;
  std::vector<std::string> erases_ AQUA_GUARDED_BY(mu_);  // keys of what is in the log no longer
  bool erases_wait_ AQUA_GUARDED_BY(mu_) = false;         // they failed: until something changes
  bool may_clean_ AQUA_GUARDED_BY(mu_) = true;
  bool busy_ AQUA_GUARDED_BY(mu_) = false;
  bool stop_ AQUA_GUARDED_BY(mu_) = false;
  bool writable_ AQUA_GUARDED_BY(mu_) = true;
  std::uint64_t file_bytes_ AQUA_GUARDED_BY(mu_) = 0;
  std::uint64_t decayed_ AQUA_GUARDED_BY(mu_) = 0;
  std::string error_ AQUA_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace aqua::keeper
