// SPDX-License-Identifier: Apache-2.0
// Copies: the descriptors behind what the keeper's book knows. It maps none of them: a descriptor
// keeps the memory, and the kernel counts who maps it.
//
// Threads: none of its own; the keeper's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "systems/sharing/decide/model_book.hpp"
#include "tools/keeper/kept_slab.hpp"
#include "tools/keeper/slab_room.hpp"

namespace aqua::keeper {

struct KeptCopy {
  bool enforced = true;  // each slab is a memfd that nobody can write any more; else by convention
  std::uint64_t number = 0;  // its place in the order in which all keepers published copies
  std::string stored{};      // its name in the DescriptorStore; empty: it is not there
  std::vector<KeptSlab> slabs;
  UniqueFd manifest;
  [[nodiscard]] std::uint64_t bytes() const;
};

class Copies {
 public:
  // The room outlives it.
  explicit Copies(SlabRoom& room) : room_(room) {}

  // resource_exhausted: as many copies as slabs may be.
  [[nodiscard]] Result<void> begin(sharing::CopyId id);
  // All or none. invalid_argument: what take_slabs() says of slabs that nobody writes.
  // resource_exhausted: there is no room for them.
  [[nodiscard]] Result<void> add(sharing::CopyId id, std::span<const std::uint64_t> bytes,
                                 std::vector<UniqueFd> fds);
  // invalid_argument: it is no memfd that is sealed, or the copy has no slabs.
  [[nodiscard]] Result<void> set_manifest(sharing::CopyId id, std::vector<UniqueFd> fds);
  // Its memory is freed by the room's threads.
  void forget(sharing::CopyId id);

  [[nodiscard]] KeptCopy& at(sharing::CopyId id) { return copies_.at(id); }
  [[nodiscard]] const KeptCopy& at(sharing::CopyId id) const { return copies_.at(id); }

 private:
  SlabRoom& room_;
  std::map<sharing::CopyId, KeptCopy> copies_;
};

}  // namespace aqua::keeper
