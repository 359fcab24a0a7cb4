// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "gpu/bench_kernels.hpp"

namespace aqua::bench {
namespace {

__device__ std::uint64_t now_ns() {
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

__global__ void gate_kernel(GateFlags* flags, std::uint64_t limit) {
  const std::uint64_t start = now_ns();
  while (flags->open == 0) {
    if (now_ns() - start > limit) {
      flags->gave_up = 1;
      break;
    }
    __nanosleep(200);
  }
  __threadfence_system();
}

__global__ void empty_kernel() {}

__device__ std::uint64_t filled(std::size_t word, std::uint64_t seed) {
  std::uint64_t z = (word + 1) * 0x9e3779b97f4a7c15ULL + seed * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

__global__ void fill_kernel(std::uint64_t* dst, std::size_t words, std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += step) {
    dst[i] = filled(i, seed);
  }
}

__global__ void difference_kernel(const kernels::Segment* list, std::size_t count,
                                  unsigned long long* words) {
  unsigned long long found = 0;
  for (std::size_t s = blockIdx.x; s < count; s += gridDim.x) {
    const auto* a = reinterpret_cast<const std::uint64_t*>(list[s].dst);
    const auto* b = reinterpret_cast<const std::uint64_t*>(list[s].src);
    for (std::size_t i = threadIdx.x; i < list[s].bytes / 8; i += blockDim.x) {
      found += a[i] != b[i] ? 1 : 0;
    }
  }
  if (found != 0) atomicAdd(words, found);
}

__global__ void overwritten_kernel(const Gap* gaps, std::size_t count, std::uint64_t seed,
                                   unsigned long long* words) {
  unsigned long long found = 0;
  for (std::size_t g = blockIdx.x; g < count; g += gridDim.x) {
    const auto* area = reinterpret_cast<const std::uint64_t*>(gaps[g].area);
    const std::uint64_t end = (gaps[g].first + gaps[g].bytes) / 8;
    for (std::uint64_t i = gaps[g].first / 8 + threadIdx.x; i < end; i += blockDim.x) {
      found += area[i] != filled(i, seed) ? 1 : 0;
    }
  }
  if (found != 0) atomicAdd(words, found);
}

constexpr unsigned kTile = 128;
constexpr unsigned kDepth = 32;
constexpr unsigned kPad = 8;

// 8 warps, each 64 x 32 of the tile.
__global__ void __launch_bounds__(256)
    multiply_kernel(const half* a, const half* b, float* c, unsigned n) {
  using namespace nvcuda;
  __shared__ half sa[kTile][kDepth + kPad];
  __shared__ half sb[kDepth][kTile + kPad];
  const unsigned row = blockIdx.y * kTile;
  const unsigned column = blockIdx.x * kTile;
  const unsigned warp = threadIdx.x / 32;
  const unsigned wr = warp / 4 * 64;
  const unsigned wc = warp % 4 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4][2];
  for (auto& line : sum) {
    for (auto& f : line) wmma::fill_fragment(f, 0.0F);
  }
  for (unsigned k = 0; k < n; k += kDepth) {
    for (unsigned i = threadIdx.x; i < kTile * kDepth / 8; i += 256) {
      const unsigned ar = i / (kDepth / 8);
      const unsigned ac = i % (kDepth / 8) * 8;
      *reinterpret_cast<uint4*>(&sa[ar][ac]) =
          *reinterpret_cast<const uint4*>(a + std::size_t{row + ar} * n + k + ac);
      const unsigned br = i / (kTile / 8);
      const unsigned bc = i % (kTile / 8) * 8;
      *reinterpret_cast<uint4*>(&sb[br][bc]) =
          *reinterpret_cast<const uint4*>(b + std::size_t{k + br} * n + column + bc);
    }
    __syncthreads();
    for (unsigned kk = 0; kk < kDepth; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[4];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb[2];
      for (unsigned i = 0; i < 4; ++i) {
        wmma::load_matrix_sync(fa[i], &sa[wr + 16 * i][kk], kDepth + kPad);
      }
      for (unsigned j = 0; j < 2; ++j) {
        wmma::load_matrix_sync(fb[j], &sb[kk][wc + 16 * j], kTile + kPad);
      }
      for (unsigned i = 0; i < 4; ++i) {
        for (unsigned j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], fa[i], fb[j], sum[i][j]);
      }
    }
    __syncthreads();
  }
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned j = 0; j < 2; ++j) {
      wmma::store_matrix_sync(c + std::size_t{row + wr + 16 * i} * n + column + wc + 16 * j,
                              sum[i][j], n, wmma::mem_row_major);
    }
  }
}

cudaStream_t raw(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

}  // namespace

int hold(GateFlags* flags, std::uint64_t nanoseconds, void* stream) {
  gate_kernel<<<1, 1, 0, raw(stream)>>>(flags, nanoseconds);
  return cudaGetLastError();
}

int launch_empty(void* stream) {
  empty_kernel<<<1, 32, 0, raw(stream)>>>();
  return cudaGetLastError();
}

int fill(std::byte* dst, std::size_t bytes, std::uint64_t seed, void* stream) {
  fill_kernel<<<2048, 256, 0, raw(stream)>>>(reinterpret_cast<std::uint64_t*>(dst), bytes / 8,
                                             seed);
  return cudaGetLastError();
}

int count_differences(const kernels::Segment* list, std::size_t count, unsigned long long* words,
                      void* stream) {
  difference_kernel<<<2048, 256, 0, raw(stream)>>>(list, count, words);
  return cudaGetLastError();
}

int count_overwritten(const Gap* gaps, std::size_t count, std::uint64_t seed,
                      unsigned long long* words, void* stream) {
  if (count == 0) return cudaSuccess;
  overwritten_kernel<<<2048, 256, 0, raw(stream)>>>(gaps, count, seed, words);
  return cudaGetLastError();
}

int multiply(const void* a, const void* b, float* c, unsigned n, void* stream) {
  multiply_kernel<<<dim3(n / kTile, n / kTile), 256, 0, raw(stream)>>>(
      static_cast<const half*>(a), static_cast<const half*>(b), c, n);
  return cudaGetLastError();
}

}  // namespace aqua::bench
