// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of packers. A Packer is for one thread at a time and the C ABI is
// for many: each object has a lock, which calls take in turn.
#pragma once

#include <memory>
#include <vector>

#include "aqua/c/packer.h"
#include "aqua/packing/packer.hpp"
#include "capi/locked.hpp"
#include "capi/objects.hpp"

namespace aqua::capi {

// A plan as C sees it: its arrays, to which the caller is given pointers.
struct PlanArrays {
  std::vector<aqua_packer_preemption> preemptions{};
  std::vector<std::uint64_t> wake{};
  std::vector<aqua_packer_move> moves{};
  std::vector<aqua_packer_placement> placements{};
  std::vector<std::uint64_t> freed{}, drained{}, too_large{};
};

struct LockedPacker : LockedObject {
  explicit LockedPacker(std::unique_ptr<packing::Packer> made) : packer(std::move(made)) {}
  std::unique_ptr<packing::Packer> packer;
  PlanArrays plan{};
  std::vector<std::uint64_t> lost{};
};
struct PackerObject {
  std::unique_ptr<LockedPacker> locked;
};

[[nodiscard]] HandleTable<PackerObject, Kind::packer>& packers() noexcept;

// Runs use(locked) as the only call on the packer. `what` names the call.
template <typename Use>
[[nodiscard]] Result<void> use_packer(const char* what, aqua_packer handle, Use&& use) {
  AQUA_ASSIGN(const auto object, packers().use(what, handle.id));
  return use_locked(what, *object->locked, use);
}

[[nodiscard]] inline aqua_packer_placement to_c(const packing::Placement& placement) noexcept {
  return {static_cast<std::uint64_t>(placement.request),
          static_cast<std::uint64_t>(placement.engine),
          static_cast<aqua_packer_reason>(placement.reason), placement.wakes ? 1U : 0U};
}

}  // namespace aqua::capi
