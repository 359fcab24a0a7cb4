// SPDX-License-Identifier: Apache-2.0
// copy_weights() publishes on a device what a keeper has on another one: the files of a model are
// read once, and its weights go from GPU to GPU, over NVLink where there is one.
//
// Threads: a free function; concurrent calls are fine.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

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
  std::string from{};    // the device that has them, as PublishedMemory::device_of() names it
  std::string keeper{};  // as WeightsOptions::keeper
  std::chrono::milliseconds patience{0};  // as WeightsOptions::patience, for those on `from`
  // Called now and then on the calling thread with the bytes copied so far, and those to copy.
  std::function<void(std::uint64_t done, std::uint64_t of)> on_progress{};
};

// Publishes them on the runtime's device. Blocks until the keeper has them. The copy is digested,
// and published only where each tensor's digest is that of the source. Meanwhile both count as
// mapped by the runtime (MemoryBudget::shared_bytes).
//   invalid_argument     no model, or a device that is none or the runtime's own
//   failed_precondition  the keeper has none on `from`; or two GPUs are no peers
//   data_loss            a tensor's digest differs; nothing is published
// and the errors of SharedWeights::attach(), WeightsPublisher::begin() and commit().
[[nodiscard]] AQUA_API Result<LoadedWeights> copy_weights(Runtime& runtime,
                                                          const CopyOptions& options);

}  // namespace aqua::sharing
