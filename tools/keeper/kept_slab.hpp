// SPDX-License-Identifier: Apache-2.0
// A slab as the keeper has it: a descriptor, which keeps the memory; and what it must be to be
// kept.
//
// Threads: free functions; concurrent calls are fine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"

namespace aqua::keeper {

struct KeptSlab {
  UniqueFd fd;
  std::uint64_t bytes = 0;
};

// Who writes a slab that the keeper has.
enum class SlabWriters : std::uint8_t { nobody, everybody };

// What came with a packet, as slabs. A file must be a memfd that is sealed: against every change,
// or, where everybody writes it, against changes of its size. A descriptor of anything else, but
// for sockets and the like, is taken for memory of a device, which has neither size nor seals.
// invalid_argument: not as many sizes as descriptors, or something that is no such slab.
struct TakenSlabs {
  std::vector<KeptSlab> slabs;
  bool enforced = true;  // each is a memfd: the kernel keeps what the seals say
};
[[nodiscard]] Result<TakenSlabs> take_slabs(std::span<const std::uint64_t> bytes,
                                            std::vector<UniqueFd> fds, SlabWriters writers);
// invalid_argument: it is no memfd that nobody can write or resize any more.
[[nodiscard]] Result<void> check_sealed(int fd);

}  // namespace aqua::keeper
