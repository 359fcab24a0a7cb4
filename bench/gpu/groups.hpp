// SPDX-License-Identifier: Apache-2.0
// What gpu_bench measures. Each gives its rows to `sink` as they come, the last when it returns.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "gpu/measure.hpp"
#include "gpu/nccl.hpp"

namespace aqua::bench {

using Sink = std::function<void(const nlohmann::json& rows)>;  // an array

// The first three measure the driver's ways, our kernels alone and what the library makes of them
// ("library", gpu/library.hpp), each against one bulk copy of as many bytes.

// Gather and scatter within device memory, blocks of 4 KiB to 1 MiB.
void measure_hbm(Areas& areas, Meter& meter, const Sink& sink);

// Blocks of 16 KiB to 2 MiB to and from page-locked host memory and both at once.
void measure_host(Areas& areas, Meter& meter, const Sink& sink);

// Blocks of 16 KiB to 2 MiB to and from a slab of another process on this GPU, and
// both at once.
void measure_slab(Areas& areas, Meter& meter, const Sink& sink);

// Messages of 1 MiB to all to a neighbouring GPU, or to this one where there is one: a bulk copy,
// NCCL's, and as many bytes of scattered blocks by the library.
void measure_nccl(Areas& areas, Meter& meter, Nccl& nccl, const Sink& sink);

// The driver's batches, and the library's by them: blocks of 16 KiB to 2 MiB, 8192 at most, to and
// from page-locked host memory.
void measure_batch(Areas& areas, Meter& meter, const Sink& sink);

// Bandwidth of the direct kernels by number of SMs, and what a matrix product on the same
// GPU loses meanwhile.
void measure_sm_budget(Areas& areas, Meter& meter, const Sink& sink);

// Launch of an empty kernel, quiet and while slabs are mapped and unmapped.
void measure_launches(const Sink& sink);

// A matrix product and reading memory, each with 0.1, 0.2 … 1.0 of the multiprocessors (green
// contexts), alone and beside the other, which has the rest; and that two parts' kernels share
// none. unimplemented, with the reason: the driver or the GPU has no green contexts.
[[nodiscard]] Result<void> measure_green_contexts(Areas& areas, unsigned repetitions,
                                                  const Sink& sink);

}  // namespace aqua::bench
