// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of replicators and of replica readers. A reader remembers what it
// has restored, and where to: a replicator adopts that, and nothing else.
//
// Lock order: no two of these locks are held at a time, but a reader's `lock` before that of what
// it has restored.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aqua/c/replica_reader.h"
#include "aqua/c/replicator.h"
#include "aqua/kv_stream/replica_reader.hpp"
#include "aqua/kv_stream/replicator.hpp"
#include "capi/call.hpp"
#include "capi/locked.hpp"
#include "capi/objects.hpp"

namespace aqua::capi {

// What a recovery goes by as it looks for replicas at a keeper.
struct ReplicaPlace {
  kv_stream::ReplicaOwner owner{};
  std::string shape{};
  friend bool operator==(const ReplicaPlace&, const ReplicaPlace&) = default;
};

struct LockedReplicator : LockedObject {
  LockedReplicator(Layout of, ReplicaPlace at, std::uint64_t in_term)
      : layout(std::move(of)), place(std::move(at)), term(in_term) {}
  const Layout layout;
  const ReplicaPlace place;
  std::uint64_t term;                        // under `lock`
  std::vector<std::uint64_t> unprotected{};  // as C was told last
  std::optional<kv_stream::Replicator> replicator{};
};
struct ReplicatorObject {
  RuntimeKeep runtime;
  std::unique_ptr<LockedReplicator> locked;
};

// A sequence as it was last restored.
struct RestoredSequence {
  std::uint64_t runtime = 0;
  std::uint64_t term = 0;  // of its reader
  ReplicaPlace place{};    // likewise
  LayoutSpec cache{};
  std::vector<std::uint32_t> ids{};
  std::vector<std::uint32_t> blocks{};
  std::vector<kv_stream::ReplicaPiece> pieces{};
};

// What a reader has restored. It has a lock of its own: the reader's is held while the keeper is
// waited for.
//
// Threads: every method may be called concurrently.
class RestoredSequences {
 public:
  using Record = std::shared_ptr<const RestoredSequence>;  // null: none that is whole

  // Returns what was there before. From a sequence's second call on it allocates nothing.
  Record exchange(std::uint64_t sequence, Record record) {
    const MutexLock guard(lock_);
    return std::exchange(records_[sequence], std::move(record));
  }
  [[nodiscard]] Record find(std::uint64_t sequence) const {
    const MutexLock guard(lock_);
    const auto found = records_.find(sequence);
    return found == records_.end() ? nullptr : found->second;
  }

 private:
  mutable Mutex lock_;
  std::map<std::uint64_t, Record> records_ AQUA_GUARDED_BY(lock_);
};

struct LockedReplicaReader : LockedObject {
  LockedReplicaReader(ReplicaPlace at, std::uint64_t in_term)
      : place(std::move(at)), term(in_term) {}
  const ReplicaPlace place;
  const std::uint64_t term;
  std::vector<std::uint64_t> sequences{};  // as C was told last
  RestoredSequences restored{};
  std::optional<kv_stream::ReplicaReader> reader{};
};
struct ReplicaReaderObject {
  RuntimeKeep runtime;
  std::unique_ptr<LockedReplicaReader> locked;
};

using ReplicatorTable = HandleTable<ReplicatorObject, Kind::replicator, kChunksOfReplicas / 2>;
using ReplicaReaderTable =
    HandleTable<ReplicaReaderObject, Kind::replica_reader, kChunksOfReplicas / 2>;

[[nodiscard]] ReplicatorTable& replicators() noexcept;
[[nodiscard]] ReplicaReaderTable& replica_readers() noexcept;

}  // namespace aqua::capi
