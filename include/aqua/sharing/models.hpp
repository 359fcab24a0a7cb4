// SPDX-License-Identifier: Apache-2.0
// What a keeper has, for people and for who looks after it.
//
// Threads: free functions; concurrent calls are fine. Each blocks for the keeper's answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"

namespace aqua::sharing {

struct ModelStatus {
  std::string model{};
  std::string version{};
  std::uint32_t shards = 1;
  std::uint32_t copies = 0;   // of shards, on whatever devices
  std::uint32_t filling = 0;  // of these, being published
  std::uint32_t readers = 0;
  std::uint64_t bytes = 0;  // of all copies
  bool shows = false;       // all of its shards are there
  bool superseded = false;  // by a newer one: it goes with its last reader
  friend bool operator==(const ModelStatus&, const ModelStatus&) = default;
};

// A shard of a version on one device.
struct ModelCopy {
  std::string model{};
  std::string version{};
  std::uint32_t shard = 0, shards = 1;
  std::string device{};  // as PublishedMemory::device_of() names it
  std::uint64_t bytes = 0;
  std::uint32_t readers = 0;
  bool filling = false;     // it is being published
  bool spare = false;       // in host memory, where no engine reads it
  bool superseded = false;  // as ModelStatus::superseded, of its version
  // The keeper has it from an earlier one, whose readers it does not know.
  bool readers_unknown = false;
  // The larger, the later it was published or attached, or a reader let go of it. Of all copies of
  // one keeper.
  std::uint64_t last_used = 0;
  friend bool operator==(const ModelCopy&, const ModelCopy&) = default;
};

// By model, the oldest version first. `keeper`: as WeightsOptions::keeper. unavailable and
// permission_denied as SharedWeights::attach().
[[nodiscard]] AQUA_API Result<std::vector<ModelStatus>> list_models(const std::string& keeper = {});
// Each copy of each of them, in the same order.
[[nodiscard]] AQUA_API Result<std::vector<ModelCopy>> list_copies(const std::string& keeper = {});
// Bytes that the keeper has let go of, and that the kernel has not yet freed: they are in none of
// those rows, and are nobody's to take. Waits until there are none, at most so long. What somebody
// still has mapped does not count, nor what systemd has of an earlier keeper's.
[[nodiscard]] AQUA_API Result<std::uint64_t> bytes_being_freed(
    const std::string& keeper = {}, std::chrono::milliseconds patience = {});
// Has a version's copies on a device go, which nobody reads, as far as this keeper knows.
//   not_found            there are none
//   failed_precondition  somebody reads or publishes one, or it is the only one of its shard
[[nodiscard]] AQUA_API Result<void> drop_copies(const std::string& model,
                                                const std::string& version,
                                                const std::string& device,
                                                const std::string& keeper = {});
// Has a version go as if a newer one had superseded it: at once, or with its last reader.
// not_found: there is no such version.
[[nodiscard]] AQUA_API Result<void> retire_model(const std::string& model,
                                                 const std::string& version,
                                                 const std::string& keeper = {});

}  // namespace aqua::sharing
