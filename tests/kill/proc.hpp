// SPDX-License-Identifier: Apache-2.0
// What the kernel knows of a process: the oracle that no library can talk into anything.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace aqua::kill_test {

// The slabs that a process has mapped, each by the inode of its memory.
[[nodiscard]] std::multiset<std::uint64_t> mapped_slabs(pid_t pid);

// What its descriptors are, sorted: "pipe", "socket", "memfd:aqua-slab" ...
[[nodiscard]] std::vector<std::string> descriptors(pid_t pid);

}  // namespace aqua::kill_test
