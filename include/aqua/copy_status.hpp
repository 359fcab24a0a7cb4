// SPDX-License-Identifier: Apache-2.0
// What a runtime tells of its copies, and of those that did not go as planned.
#pragma once

#include <cstdint>

namespace aqua {

// What really ran of the copies asked of the device since the runtime was opened, its own moves of
// tensors among them. Units: batches of copies; one whose parts went different ways counts for
// each of them. The second half says why a kernel or one command for a whole batch was asked for
// and passed over: on a GPU these mean that transfers are slower than planned.
struct CopyStatus {
  std::uint64_t kernel = 0;       // by a kernel of ours
  std::uint64_t batched = 0;      // by one command for many blocks
  std::uint64_t each = 0;         // by a command a block
  std::uint64_t unsupported = 0;  // the device, its driver or the stream has no such way
  std::uint64_t unreachable = 0;  // memory that the GPU is not known to reach
  std::uint64_t full = 0;         // no room for a kernel's list, or too many commands in flight
  std::uint64_t refused = 0;      // by the driver
};

}  // namespace aqua
