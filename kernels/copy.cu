// SPDX-License-Identifier: Apache-2.0
// The kernels and their launchers.

#include <cuda_runtime.h>

#include "kernels/bulk_engine.cuh"
#include "kernels/copy.hpp"
#include "kernels/copy_geometry.hpp"
#include "kernels/copy_piece.hpp"
#include "kernels/copy_ring.hpp"
#include "kernels/copy_shape.hpp"
#include "kernels/device_lane.cuh"
#include "kernels/device_traits.hpp"

namespace aqua::kernels {
namespace {

__device__ std::uint64_t warp_of_grid() {
  return std::uint64_t{blockIdx.x} * (blockDim.x / kLanes) + threadIdx.x / kLanes;
}

// The bound is for one CTA on an SM, since a bound on more makes the compiler reuse registers so
// that fewer loads of a pass are in flight; with these, two CTAs of 256 threads fit, three for
// lists.
template <typename Plan, bool kStream>
__global__ void __launch_bounds__(512, 1) vector_kernel(const __grid_constant__ Plan plan) {
  const DeviceLane<kStream> lane;
  auto walk = walk_of(lane, plan, warp_of_grid());
  for (Piece piece; walk.next(piece);) copy_piece(lane, piece);
}

// Dynamic shared memory: a RingMemory for each warp.
template <typename Plan>
__global__ void __launch_bounds__(64) bulk_kernel(const __grid_constant__ Plan plan) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ RingMemory rings[];
  RingMemory& memory = rings[threadIdx.x / kLanes];
  const DeviceLane<true> lane;
  BulkEngine engine(memory);
  if (lane.index() == 0) engine.begin();
  Ring<BulkEngine> ring(engine, memory);
  auto walk = walk_of(lane, plan, warp_of_grid());
  for (Piece piece; walk.next(piece);) copy_piece_bulk(lane, ring, piece);
  if (lane.index() == 0) ring.finish();
#endif
}

constexpr unsigned kUploadThreads = 512;
constexpr std::size_t kUploadOfCta = std::size_t{64} << 10;
constexpr std::size_t kUploadCtas = 8;  // enough for a link, and few SMs
constexpr unsigned kUploadAhead = 4;    // loads of a thread that cross the link together

// The host writes its memory anew between launches: nothing of it may be taken from a cache.
__global__ void __launch_bounds__(kUploadThreads)
    upload_kernel(uint4* dst, const uint4* src, std::size_t words) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i + (kUploadAhead - 1) * threads < words; i += kUploadAhead * threads) {
    uint4 ahead[kUploadAhead];
#pragma unroll
    for (unsigned k = 0; k < kUploadAhead; ++k) ahead[k] = __ldcv(src + i + k * threads);
#pragma unroll
    for (unsigned k = 0; k < kUploadAhead; ++k) dst[i + k * threads] = ahead[k];
  }
  for (; i < words; i += threads) dst[i] = __ldcv(src + i);
}

// What L2 is to keep of a copy's destination.
constexpr std::uint64_t kKeptBytes = std::uint64_t{16} << 20;

template <typename Plan>
cudaError_t run(void (*kernel)(Plan), Plan plan, const Shape& shape, std::size_t shared,
                void* stream) {
  void* arguments[] = {&plan};
  // Its own result, not the thread's last error: that may be somebody else's.
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(shape.ctas),
                          dim3(shape.warps * kLanes), arguments, shared,
                          static_cast<cudaStream_t>(stream));
}

template <typename Plan>
cudaError_t load_for(DeviceTraits& traits) {
  cudaFuncAttributes attributes{};
  if (const auto e = cudaFuncGetAttributes(&attributes, vector_kernel<Plan, true>)) return e;
  if (const auto e = cudaFuncGetAttributes(&attributes, vector_kernel<Plan, false>)) return e;
  if (traits.capability_major < 9) return cudaSuccess;
  // Built for older GPUs alone, that kernel is empty whatever the GPU could do.
  if (const auto e = cudaFuncGetAttributes(&attributes, bulk_kernel<Plan>)) return e;
  if (attributes.ptxVersion < 90) return cudaSuccess;
  traits.bulk_warps = bulk_warps(traits.shared_bytes);
  return cudaFuncSetAttribute(bulk_kernel<Plan>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(traits.bulk_warps * sizeof(RingMemory)));
}

cudaError_t load(DeviceTraits& traits) {
  cudaFuncAttributes attributes{};
  if (const auto e = cudaFuncGetAttributes(&attributes, upload_kernel)) return e;
  if (const auto e = load_for<CopyPlan>(traits)) return e;
  return load_for<BlockPlan>(traits);
}

// A launch of either kind, with `total_bytes` in all.
template <typename Launch>
int copy(const Launch& launch, std::uint64_t total_bytes, void* stream) {
  using Plan = decltype(plan_of(launch, Shape{}));
  if (total_bytes == 0) return cudaSuccess;
  DeviceTraits traits;
  if (const auto e = traits_of_current(traits, load)) return e;
  if (launch.kernel == CopyKernel::bulk && traits.bulk_warps != 0) {
    const Shape shape = bulk_shape(total_bytes, traits.sms, launch.max_sms, traits.bulk_warps);
    return run(bulk_kernel<Plan>, plan_of(launch, shape), shape,
               traits.bulk_warps * sizeof(RingMemory), stream);
  }
  const Shape shape = vector_shape(total_bytes, traits.sms, launch.max_sms);
  auto* kernel = total_bytes > kKeptBytes ? vector_kernel<Plan, true> : vector_kernel<Plan, false>;
  return run(kernel, plan_of(launch, shape), shape, 0, stream);
}

}  // namespace

int load_kernels() {
  DeviceTraits traits;
  return traits_of_current(traits, load, true);
}

int upload(void* dst, const void* src, std::size_t bytes, void* stream) {
  if (bytes == 0) return cudaSuccess;
  DeviceTraits traits;
  if (const auto e = traits_of_current(traits, load)) return e;
  std::size_t words = bytes / sizeof(uint4);
  void* arguments[] = {&dst, &src, &words};
  const auto ctas = static_cast<unsigned>(std::min(ceil_div(bytes, kUploadOfCta), kUploadCtas));
  return cudaLaunchKernel(reinterpret_cast<const void*>(upload_kernel), dim3(ctas),
                          dim3(kUploadThreads), arguments, 0, static_cast<cudaStream_t>(stream));
}

int copy_segments(const CopyLaunch& launch, void* stream) {
  return copy(launch, launch.total_bytes, stream);
}

int copy_blocks(const BlockLaunch& launch, void* stream) {
  return copy(launch, launch.count * launch.blocks.piece_bytes, stream);
}

}  // namespace aqua::kernels
