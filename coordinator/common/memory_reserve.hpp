// SPDX-License-Identifier: Apache-2.0
// Memory that is set aside for when there is no more: the ledger cannot go back from the middle of
// a change. It helps where the limit is one of address space (ulimit -v, strict overcommit); under
// a cgroup's the kernel ends the process.
//
// Threads: free functions, callable from any; reserve_memory() before there are others.
#pragma once

#include <cstddef>

namespace aqua::coordinator {

// Sets `bytes` aside, once for the process.
void reserve_memory(std::size_t bytes);

// While it lives, operator new may take the reserve on this thread, where it finds no other memory.
// Whoever comes first takes all of it. Not to be nested.
class MayUseReserve {
 public:
  MayUseReserve();
  ~MayUseReserve();
  MayUseReserve(const MayUseReserve&) = delete;
  MayUseReserve& operator=(const MayUseReserve&) = delete;
};

// True from when memory was refused, or the reserve taken, until there is some again: nothing new
// should be begun. Sets the reserve aside again where that is possible. False where nothing was
// ever set aside.
[[nodiscard]] bool memory_is_short();

}  // namespace aqua::coordinator
