// SPDX-License-Identifier: Apache-2.0
// Kernels of a layer, for CUDA. All only queue; errors are CUDA's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu_layer_pool_bench/device_work.hpp"

namespace aqua::bench {

// What a step reads and writes, in memory of the device.
struct DeviceStep {
  std::uint32_t step = 0;
  std::uint32_t reads = 0, writes = 0;  // blocks
  std::uint64_t spin_nanoseconds = 0;
  std::uint32_t read_blocks[DeviceWork::kMostBlocks];
  std::uint32_t stamps[DeviceWork::kMostBlocks];  // that the blocks of read_blocks have
  std::uint32_t write_blocks[DeviceWork::kMostBlocks];
};

// Where a layer's blocks are, from call to call the same.
struct DeviceLayer {
  std::byte* planes[DeviceWork::kMostPlanes];
  std::uint32_t plane_count;
  std::uint32_t layer;
  std::size_t block_bytes;  // whole words
};

// Compares every word of the blocks that the step reads with what their stamps say, and adds those
// that differ to *wrong; then stamps the blocks that it writes; then spins.
[[nodiscard]] int launch_layer(const DeviceStep* step, const DeviceLayer& layer,
                               unsigned long long* wrong, void* stream);

}  // namespace aqua::bench
