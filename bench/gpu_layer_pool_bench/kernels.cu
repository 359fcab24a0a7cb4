// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include "gpu_layer_pool_bench/kernels.hpp"

namespace aqua::bench {
namespace {

constexpr unsigned kBlocks = 264;  // of a grid: two on each multiprocessor of an H100
constexpr unsigned kThreads = 256;

__device__ std::uint64_t now_ns() {
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

// As layer_work.cpp's: of a block's first word; each word is by its offset more.
__device__ std::uint64_t first_word(std::uint64_t stamp, std::uint32_t layer, std::uint32_t plane) {
  return ((stamp * 257 + layer) * 7 + plane) * 0x9e3779b97f4a7c15ULL;
}
// As stamp_of().
__device__ std::uint32_t new_stamp(std::uint32_t step, std::uint32_t block) {
  return step * 4096 + block;
}

__global__ void compare_kernel(const DeviceStep* step, DeviceLayer layer,
                               unsigned long long* wrong) {
  unsigned long long found = 0;
  const std::uint32_t all = step->reads * layer.plane_count;
  for (std::uint32_t i = blockIdx.x; i < all; i += gridDim.x) {
    const std::uint32_t plane = i % layer.plane_count, read = i / layer.plane_count;
    const auto* words = reinterpret_cast<const std::uint64_t*>(
        layer.planes[plane] + step->read_blocks[read] * layer.block_bytes);
    const std::uint64_t first = first_word(step->stamps[read], layer.layer, plane);
    for (std::size_t w = threadIdx.x; w < layer.block_bytes / 8; w += blockDim.x)
      found += words[w] != first + w * 8 ? 1 : 0;
  }
  if (found != 0) atomicAdd(wrong, found);
}

__global__ void stamp_kernel(const DeviceStep* step, DeviceLayer layer) {
  const std::uint32_t all = step->writes * layer.plane_count;
  for (std::uint32_t i = blockIdx.x; i < all; i += gridDim.x) {
    const std::uint32_t plane = i % layer.plane_count;
    const std::uint32_t block = step->write_blocks[i / layer.plane_count];
    auto* words = reinterpret_cast<std::uint64_t*>(layer.planes[plane] + block * layer.block_bytes);
    const std::uint64_t first = first_word(new_stamp(step->step, block), layer.layer, plane);
    for (std::size_t w = threadIdx.x; w < layer.block_bytes / 8; w += blockDim.x)
      words[w] = first + w * 8;
  }
}

// One thread: copies have the memory and every other multiprocessor meanwhile.
__global__ void spin_kernel(const DeviceStep* step) {
  const std::uint64_t start = now_ns();
  while (now_ns() - start < step->spin_nanoseconds) __nanosleep(200);
}

}  // namespace

int launch_layer(const DeviceStep* step, const DeviceLayer& layer, unsigned long long* wrong,
                 void* stream) {
  const auto raw = static_cast<cudaStream_t>(stream);
  compare_kernel<<<kBlocks, kThreads, 0, raw>>>(step, layer, wrong);
  stamp_kernel<<<kBlocks, kThreads, 0, raw>>>(step, layer);
  spin_kernel<<<1, 1, 0, raw>>>(step);
  return cudaGetLastError();
}

}  // namespace aqua::bench
