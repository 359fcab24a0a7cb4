// SPDX-License-Identifier: Apache-2.0
// The ways to move a list of blocks that are compared.
#pragma once

#include "gpu/measure.hpp"

namespace aqua::bench {

// One copy by the driver of as many bytes: the baseline. `same` is a list of one segment.
[[nodiscard]] CopyTask bulk_copy(const BlockList& same);
// cudaMemcpyAsync for each block.
[[nodiscard]] CopyTask copy_each(const BlockList& list);
// When the driver may read the sources of a batch.
enum class BatchOrder : unsigned char { stream, any };
// cudaMemcpyBatchAsync, 4096 blocks a call. Drivers were seen to hang on many calls in a row: 8192
// blocks at most.
[[nodiscard]] CopyTask copy_batch(const BlockList& list, BatchOrder order);
// Our kernel on both sides directly, with a list of the pieces; 0 SMs: as many as help.
[[nodiscard]] CopyTask copy_kernel(const BlockList& list, kernels::CopyKernel kernel, unsigned sms);
// With the numbers of a pool's blocks, as the library does.
[[nodiscard]] CopyTask copy_blocks_kernel(const BlockList& list, kernels::CopyKernel kernel,
                                          unsigned sms);
// Two ways that write to different places, at once on two streams.
[[nodiscard]] CopyTask at_once(const CopyTask& a, const CopyTask& b);

}  // namespace aqua::bench
