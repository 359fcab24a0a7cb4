// SPDX-License-Identifier: Apache-2.0
// What processes have mapped of a pool, and of a file, as the kernel tells it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

namespace aqua::prefill_decode {

struct PoolMemory {
  std::set<std::string> inodes{};
  std::uint64_t proportional_bytes = 0;  // Pss: what others map too is counted in parts
};

// The memory that `process` may write and `keeper` has, too. Weights do not count: they are mapped
// to be read.
[[nodiscard]] PoolMemory pool_memory(pid_t process, pid_t keeper);

// This process's part (Pss) of what it has mapped of a file.
[[nodiscard]] std::uint64_t own_part_of(const std::filesystem::path& file);

}  // namespace aqua::prefill_decode
