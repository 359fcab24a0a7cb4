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

namespace aqua::keeper {

struct KeptSlab {
  UniqueFd fd;
  std::uint64_t bytes = 0;
};

struct KeptCopy {
  bool enforced = true;  // each slab is a memfd that nobody can write any more; else by convention
  std::uint64_t number =
      0;                 // its place among the copies of all keepers, in the order of publishing
  std::string stored{};  // its name in the DescriptorStore; empty: it is not there
  std::vector<KeptSlab> slabs;
  UniqueFd manifest;
  [[nodiscard]] std::uint64_t bytes() const;
};

class Copies {
 public:
  // At most so many slabs in all.
  explicit Copies(std::size_t most_slabs) : most_slabs_(most_slabs) {}

  // resource_exhausted: as many copies as slabs may be.
  [[nodiscard]] Result<void> begin(sharing::CopyId id);
  // All or none. A file must be a memfd that is sealed. A descriptor of anything else, but for
  // sockets and the like, is taken for memory of a device, which has neither size nor seals.
  //   invalid_argument     not as many sizes as descriptors, a size that a slab has not, or a slab
  //                        that is not sealed as it must be
  //   resource_exhausted   more slabs than the keeper has descriptors for
  [[nodiscard]] Result<void> add(sharing::CopyId id, std::span<const std::uint64_t> bytes,
                                 std::vector<UniqueFd> fds);
  // invalid_argument: it is no memfd that is sealed, or the copy has no slabs.
  [[nodiscard]] Result<void> set_manifest(sharing::CopyId id, std::vector<UniqueFd> fds);
  void forget(sharing::CopyId id);

  [[nodiscard]] KeptCopy& at(sharing::CopyId id) { return copies_.at(id); }
  [[nodiscard]] const KeptCopy& at(sharing::CopyId id) const { return copies_.at(id); }

 private:
  const std::size_t most_slabs_;
  std::size_t slabs_ = 0;
  std::map<sharing::CopyId, KeptCopy> copies_;
};

}  // namespace aqua::keeper
