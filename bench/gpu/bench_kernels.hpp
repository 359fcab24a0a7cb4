// SPDX-License-Identifier: Apache-2.0
// Kernels that the benchmarks need besides what they measure. All only queue; errors are
// CUDA's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/gaps.hpp"
#include "kernels/copy.hpp"

namespace aqua::bench {

// In mapped host memory. The gate kernel ends once the host sets `open`, or says that it
// `gave_up` waiting: then the host was itself held up by a full queue.
struct GateFlags {
  volatile unsigned open;
  volatile unsigned gave_up;
};
[[nodiscard]] int hold(GateFlags* flags, std::uint64_t nanoseconds, void* stream);

[[nodiscard]] int launch_empty(void* stream);

// Words that differ at every address and for every seed. 8-byte aligned, whole words.
[[nodiscard]] int fill(std::byte* dst, std::size_t bytes, std::uint64_t seed, void* stream);

// Adds to *words the 8-byte words in which the segments' destinations differ from their
// sources. The list is device-readable.
[[nodiscard]] int count_differences(const kernels::Segment* list, std::size_t count,
                                    unsigned long long* words, void* stream);

// Adds to *words the 8-byte words of the gaps that are not what fill() of their areas with this
// seed has left there. Gaps are whole words.
[[nodiscard]] int count_overwritten(const Gap* gaps, std::size_t count, std::uint64_t seed,
                                    unsigned long long* words, void* stream);

// C = A x B on the tensor cores, square, half precision, n a multiple of 128. A load that
// fills the GPU as an engine's matrix products do, not a fast product: tiles of 128 x 128
// through shared memory, unpipelined.
[[nodiscard]] int multiply(const void* a, const void* b, float* c, unsigned n, void* stream);

}  // namespace aqua::bench
