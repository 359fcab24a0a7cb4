// SPDX-License-Identifier: Apache-2.0
// What processes have mapped of a pool, as the kernel tells it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

namespace aqua::prefill_decode {

struct PoolMemory {
  std::set<std::string> inodes{};
  std::uint64_t proportional_bytes = 0;  // Pss: what others map too is counted in parts
};

// Of what a process may write and the keeper has: weights are mapped to be read.
[[nodiscard]] PoolMemory pool_memory(pid_t process, pid_t keeper);

}  // namespace aqua::prefill_decode
