// SPDX-License-Identifier: Apache-2.0
// What a keeper answers to who attaches: a manifest that has been checked, and the slabs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "aqua/published_memory.hpp"
#include "aqua/sharing/manifest.hpp"
#include "aqua/write_protection.hpp"
#include "base/unique_fd.hpp"
#include "systems/sharing/act/keeper_client.hpp"

namespace aqua::sharing {

struct AttachedCopy {
  CopyId id = 0;
  Manifest manifest;
  WriteProtection protection = WriteProtection::by_convention;
  std::vector<UniqueFd> descriptors;  // one for each of the manifest's slabs

  // Borrows the descriptors.
  [[nodiscard]] std::vector<SlabDescriptor> slabs() const;
};

// Waits for the patience at most, as WeightsOptions::patience says. Errors: the keeper's;
// deadline_exceeded; invalid_argument where its answer is not of what was asked, or does not fit
// together.
[[nodiscard]] Result<AttachedCopy> attach_copy(KeeperClient& keeper, const ShardName& shard,
                                               const std::string& device,
                                               std::chrono::milliseconds patience);

}  // namespace aqua::sharing
