// SPDX-License-Identifier: Apache-2.0
// A Lane on the GPU: how a thread reads the list, loads and stores (copy_piece.hpp).
#pragma once

#include <cstdint>

#include "kernels/copy_piece.hpp"

namespace aqua::kernels {

// The source is read once and by no other thread: past L1, by the read-only path. kStream:
// more is written than L2 should keep, so what is written leaves it first; otherwise, as
// when staging, it is about to be read.
template <bool kStream>
struct DeviceLane {
  __device__ unsigned index() const { return threadIdx.x % kLanes; }
  __device__ void converge() const { __syncwarp(); }

  __device__ std::uint64_t read(const std::uint64_t* entry) const {
    return __ldg(reinterpret_cast<const unsigned long long*>(entry));
  }
  __device__ std::uint32_t read(const std::uint32_t* entry) const { return __ldg(entry); }
  __device__ std::byte* read(std::byte* const* entry) const {
    return reinterpret_cast<std::byte*>(__ldg(reinterpret_cast<const unsigned long long*>(entry)));
  }
  __device__ Segment read(const Segment* entry) const {
    const auto* halves = reinterpret_cast<const ulonglong2*>(entry);
    const ulonglong2 a = __ldg(halves);
    const ulonglong2 b = __ldg(halves + 1);
    return {reinterpret_cast<std::byte*>(a.x), reinterpret_cast<const std::byte*>(a.y), b.x, b.y};
  }

  __device__ Word16 load(const Word16* p) const {
    Word16 w;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w)
                 : "l"(__cvta_generic_to_global(p)));
    return w;
  }
  __device__ Word8 load(const Word8* p) const {
    Word8 w;
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                 : "=r"(w.x), "=r"(w.y)
                 : "l"(__cvta_generic_to_global(p)));
    return w;
  }
  template <typename Word>
  __device__ Word load(const Word* p) const {
    return __ldg(p);
  }

  __device__ void store(Word16* p, Word16 w) const {
    auto* to = reinterpret_cast<uint4*>(p);
    const uint4 value = make_uint4(w.x, w.y, w.z, w.w);
    if constexpr (kStream) {
      __stcs(to, value);
    } else {
      __stwb(to, value);
    }
  }
  __device__ void store(Word8* p, Word8 w) const {
    auto* to = reinterpret_cast<uint2*>(p);
    const uint2 value = make_uint2(w.x, w.y);
    if constexpr (kStream) {
      __stcs(to, value);
    } else {
      __stwb(to, value);
    }
  }
  template <typename Word>
  __device__ void store(Word* p, Word w) const {
    if constexpr (kStream) {
      __stcs(p, w);
    } else {
      __stwb(p, w);
    }
  }
};

}  // namespace aqua::kernels
