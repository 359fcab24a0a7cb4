// SPDX-License-Identifier: Apache-2.0
// Memory that is set aside for when there is no more, so that what has begun ends well: the ledger
// cannot go back from the middle of a change. Operator new takes it when it finds no other.
//
// Threads: free functions, callable from any; reserve_memory() before there are others.
#pragma once

#include <cstddef>

namespace aqua::coordinator {

// Sets `bytes` aside, once for the process.
void reserve_memory(std::size_t bytes);

// True while the reserve is in use, when nothing new should be begun. Sets it aside again where
// that is possible. False where nothing was ever set aside.
[[nodiscard]] bool memory_is_short();

}  // namespace aqua::coordinator
