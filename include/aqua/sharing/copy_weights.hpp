// SPDX-License-Identifier: Apache-2.0
// copy_weights() publishes on a device what a keeper has on another one, broadcast_weights() on
// several: the files of a model are read once, and its weights go from GPU to GPU, over NVLink
// where there is one.
//
// Threads: free functions; concurrent calls are fine.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/sharing/load_weights.hpp"

namespace aqua {
class Runtime;
}

namespace aqua::sharing {

struct CopyOptions {
  std::string model{};
  std::string version{};  // empty: the newest with all of its shards that `from` has
  std::uint32_t shard = 0, shards = 1;
  // The device that has them, as PublishedMemory::device_of() names it. Empty: that of `source`.
  std::string from{};
  // A runtime on that device, if there is one: bytes go through host memory then where one of the
  // two is the device "host", or where two GPUs are no peers.
  Runtime* source = nullptr;
  std::string keeper{};                   // as WeightsOptions::keeper
  std::chrono::milliseconds patience{0};  // as WeightsOptions::patience, for those on `from`
  // Called now and then on the calling thread with the bytes copied so far, and those to copy.
  std::function<void(std::uint64_t done, std::uint64_t of)> on_progress{};
};

// Publishes them on the runtime's device. Blocks until the keeper has them. The copy is digested,
// and published only where each tensor's digest is that of the source. Meanwhile both count as
// mapped (MemoryBudget::shared_bytes), the source by `source` where bytes go through host memory.
//   invalid_argument     no model; a device that is none, the runtime's own, or not `source`'s
//   failed_precondition  the keeper has none on `from`; or two GPUs are no peers, or one of the
//                        devices is "host", and no `source` is given
//   data_loss            a tensor's digest differs; nothing is published
// and the errors of SharedWeights::attach(), WeightsPublisher::begin() and commit().
[[nodiscard]] AQUA_API Result<LoadedWeights> copy_weights(Runtime& runtime,
                                                          const CopyOptions& options);

// Publishes them on the device of each runtime, and answers in their order. It goes in rounds: in
// each, every device that has got them so far gives them to another one, so that n devices have
// them after log2(n + 1) rounds, rounded up; one that had them before gives them to none. All get
// the version that the first one got. Where a copy fails, the others go on. on_progress has the
// bytes of all devices together, from several threads, one at a time.
[[nodiscard]] AQUA_API std::vector<Result<LoadedWeights>> broadcast_weights(
    std::span<Runtime* const> runtimes, const CopyOptions& options);

}  // namespace aqua::sharing
