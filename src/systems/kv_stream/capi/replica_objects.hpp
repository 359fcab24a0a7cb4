// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of replicas: of who writes them, and of who reads them. A reader
// remembers what it has restored, so that a replicator adopts nothing that was not.
//
// Lock order: one at a time, a reader's first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aqua/c/replica_reader.h"
#include "aqua/c/replicator.h"
#include "aqua/kv_stream/replica_reader.hpp"
#include "aqua/kv_stream/replicator.hpp"
#include "capi/call.hpp"
#include "capi/objects.hpp"
#include "systems/kv_stream/capi/locked.hpp"

namespace aqua::capi {

// Where replicas lie, and whose they are.
struct ReplicaPlace {
  kv_stream::ReplicaOwner owner{};
  std::string keeper{};
  friend bool operator==(const ReplicaPlace&, const ReplicaPlace&) = default;
};

struct LockedReplicator {
  LockedReplicator(Layout of, ReplicaPlace at) : layout(std::move(of)), place(std::move(at)) {}
  std::mutex lock{};
  bool interrupted = false;
  const Layout layout;
  const ReplicaPlace place;
  std::vector<std::uint64_t> unprotected{};  // as C was told last
  std::optional<kv_stream::Replicator> replicator{};
};
struct ReplicatorObject {
  RuntimeKeep runtime;
  std::unique_ptr<LockedReplicator> locked;
};

// A sequence as it was last restored.
struct RestoredSequence {
  std::vector<std::uint32_t> ids{};
  std::vector<std::uint32_t> blocks{};
  std::vector<kv_stream::ReplicaPiece> pieces{};
};

struct LockedReplicaReader {
  explicit LockedReplicaReader(ReplicaPlace at) : place(std::move(at)) {}
  std::mutex lock{};
  bool interrupted = false;
  bool finishing = false;  // nothing is restored any more
  const ReplicaPlace place;
  std::vector<std::uint64_t> sequences{};                                 // as C was told last
  std::map<std::uint64_t, std::unique_ptr<RestoredSequence>> restored{};  // null: not whole
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
