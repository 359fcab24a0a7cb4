// SPDX-License-Identifier: Apache-2.0
// Kernels of the benchmark of shares. All only queue; errors are CUDA's.
#pragma once

#include <cstddef>

namespace aqua::bench {

// Reads `bytes`, a multiple of 16, once, as decode reads weights and KV: with several 16-byte loads
// under way in each thread. What it makes of them goes to `sum`, so that the compiler keeps them.
[[nodiscard]] int read_all(const std::byte* from, std::size_t bytes, unsigned* sum, void* stream);

// Sets seen[i] for each multiprocessor i that a block of it ran on. It has enough blocks for all,
// and each stays for a while.
[[nodiscard]] int note_multiprocessors(unsigned* seen, void* stream);

}  // namespace aqua::bench
