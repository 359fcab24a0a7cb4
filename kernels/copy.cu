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

template <bool kStream>
__global__ void __launch_bounds__(512, 2) vector_kernel(const __grid_constant__ CopyPlan plan) {
  const DeviceLane<kStream> lane;
  Walk walk(lane, plan, warp_of_grid());
  for (Piece piece; walk.next(piece);) copy_piece(lane, piece);
}

// Dynamic shared memory: a RingMemory for each warp.
__global__ void __launch_bounds__(64) bulk_kernel(const __grid_constant__ CopyPlan plan) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ RingMemory rings[];
  RingMemory& memory = rings[threadIdx.x / kLanes];
  const DeviceLane<true> lane;
  BulkEngine engine(memory);
  if (lane.index() == 0) engine.begin();
  Ring<BulkEngine> ring(engine, memory);
  Walk walk(lane, plan, warp_of_grid());
  for (Piece piece; walk.next(piece);) copy_piece_bulk(lane, ring, piece);
  if (lane.index() == 0) ring.finish();
#endif
}

// What L2 is to keep of a copy's destination.
constexpr std::uint64_t kKeptBytes = std::uint64_t{16} << 20;

template <typename Kernel>
cudaError_t run(Kernel* kernel, const CopyLaunch& launch, const Shape& shape, std::size_t shared,
                void* stream) {
  CopyPlan plan = plan_of(launch, shape);
  void* arguments[] = {&plan};
  // Its own result, not the thread's last error: that may be somebody else's.
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(shape.ctas),
                          dim3(shape.warps * kLanes), arguments, shared,
                          static_cast<cudaStream_t>(stream));
}

cudaError_t load(DeviceTraits& traits) {
  cudaFuncAttributes attributes{};
  if (const auto e = cudaFuncGetAttributes(&attributes, vector_kernel<true>)) return e;
  if (const auto e = cudaFuncGetAttributes(&attributes, vector_kernel<false>)) return e;
  if (traits.capability_major < 9) return cudaSuccess;
  // Built for older GPUs alone, that kernel is empty whatever the GPU could do.
  if (const auto e = cudaFuncGetAttributes(&attributes, bulk_kernel)) return e;
  if (attributes.ptxVersion < 90) return cudaSuccess;
  traits.bulk_warps = bulk_warps(traits.shared_bytes);
  return cudaFuncSetAttribute(bulk_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(traits.bulk_warps * sizeof(RingMemory)));
}

}  // namespace

int load_kernels() {
  DeviceTraits traits;
  return traits_of_current(traits, load, true);
}

int copy_segments(const CopyLaunch& launch, void* stream) {
  if (launch.total_bytes == 0) return cudaSuccess;
  DeviceTraits traits;
  if (const auto e = traits_of_current(traits, load)) return e;
  const bool bulk = traits.bulk_warps != 0 &&
                    (launch.kernel == CopyKernel::bulk ||
                     (launch.kernel == CopyKernel::automatic &&
                      bulk_suits(launch.total_bytes, launch.count, traits.sms, launch.max_sms)));
  if (bulk) {
    const Shape shape =
        bulk_shape(launch.total_bytes, traits.sms, launch.max_sms, traits.bulk_warps);
    return run(bulk_kernel, launch, shape, traits.bulk_warps * sizeof(RingMemory), stream);
  }
  const Shape shape = vector_shape(launch.total_bytes, traits.sms, launch.max_sms);
  auto* kernel = launch.total_bytes > kKeptBytes ? vector_kernel<true> : vector_kernel<false>;
  return run(kernel, launch, shape, 0, stream);
}

// A kernel of ours would be no faster than the driver's.
int scrub(std::byte* dst, std::size_t bytes, void* stream) {
  if (bytes == 0) return cudaSuccess;
  return cudaMemsetAsync(dst, 0, bytes, static_cast<cudaStream_t>(stream));
}

}  // namespace aqua::kernels
