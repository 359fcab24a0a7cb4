// SPDX-License-Identifier: Apache-2.0
// The engine of a Ring on sm_90 and later: the bulk copies (TMA) of one warp's lane 0, one
// mbarrier for each stage. Threads other than lane 0 call nothing here.
#pragma once

#include <cstdint>

#include "kernels/copy_ring.hpp"

namespace aqua::kernels {

class BulkEngine {
 public:
  __device__ explicit BulkEngine(RingMemory& memory) : memory_(memory) {}

  // Before the first load.
  __device__ void begin() {
    for (unsigned slot = 0; slot < kStages; ++slot) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier(slot)) : "memory");
    }
    // The copy hardware sees the barriers by another path than this thread wrote them.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }

  __device__ void load(unsigned slot, const std::byte* src, std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier(slot)),
                 "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(stage(slot)),
        "l"(__cvta_generic_to_global(src)), "r"(bytes), "r"(barrier(slot))
        : "memory");
  }
  __device__ void wait_loaded(unsigned slot, unsigned parity) {
    unsigned done = 0;
    while (done == 0) {
      asm volatile(
          "{\n .reg .pred p;\n"
          " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          " selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(barrier(slot)), "r"(parity)
          : "memory");
    }
  }
  __device__ void store(std::byte* dst, unsigned slot, std::uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(dst)),
                 "r"(stage(slot)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
  template <unsigned kPending>
  __device__ void wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
  }
  __device__ void wait_stored() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

 private:
  __device__ std::uint32_t barrier(unsigned slot) const { return shared(&memory_.loaded[slot]); }
  __device__ std::uint32_t stage(unsigned slot) const { return shared(memory_.stage[slot]); }
  __device__ static std::uint32_t shared(const void* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
  }

  RingMemory& memory_;
};

}  // namespace aqua::kernels
