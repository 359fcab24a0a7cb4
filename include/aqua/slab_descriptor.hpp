// SPDX-License-Identifier: Apache-2.0
// SlabDescriptor is device memory that goes to another process, as a file descriptor.
#pragma once

#include <cstddef>

namespace aqua {

// Borrowed: whoever fills it in keeps the descriptor, and closes it.
struct SlabDescriptor {
  int descriptor = -1;
  std::size_t bytes = 0;  // of the slab, a multiple of 2 MiB
};

}  // namespace aqua
