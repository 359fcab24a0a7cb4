// What gpu_bench measures. Each returns its rows.
#pragma once

#include <nlohmann/json.hpp>

#include "gpu/measure.hpp"

namespace aqua::bench {

// Gather and scatter within device memory, blocks of 4 KiB to 1 MiB, against one copy.
[[nodiscard]] nlohmann::json measure_hbm(Areas& areas, Meter& meter);

// Blocks of 16 KiB to 2 MiB to and from page-locked host memory and both at once, each way
// against one bulk copy.
[[nodiscard]] nlohmann::json measure_host(Areas& areas, Meter& meter);

// Blocks of 16 KiB to 2 MiB to and from a slab of another process on this GPU, against one
// bulk copy.
[[nodiscard]] nlohmann::json measure_slab(Areas& areas, Meter& meter);

// Bandwidth of the direct kernels by number of SMs, and what a matrix product on the same
// GPU loses meanwhile.
[[nodiscard]] nlohmann::json measure_sm_budget(Areas& areas, Meter& meter);

// Launch of an empty kernel, quiet and while slabs are mapped and unmapped.
[[nodiscard]] nlohmann::json measure_launches();

}  // namespace aqua::bench
