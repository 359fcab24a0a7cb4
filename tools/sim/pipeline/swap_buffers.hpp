// SPDX-License-Identifier: Apache-2.0
// The KV that a stage has on its device when it swaps microbatches, in virtual time. A microbatch
// whose turn comes takes the buffer that was used least lately, once what was written there is out,
// and its KV comes in behind the work of the one before it. One stream copies in, another out.
//
// Turns are given in the order in which the stage computes, so that what comes next is known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

class SwapBuffers {
 public:
  SwapBuffers() = default;  // of a stage that does not swap
  explicit SwapBuffers(std::uint32_t buffers) : buffers_(buffers) {}

  [[nodiscard]] bool swaps() const noexcept { return !buffers_.empty(); }

  // Gives the microbatch a buffer, into which its KV is copied if it is not there. When that has
  // come: no sooner than `copy` after `known`, when the microbatch was formed.
  [[nodiscard]] Picos ready(std::uint64_t microbatch, Picos known, Picos copy) {
    const auto there = std::ranges::find(buffers_, microbatch, &Buffer::microbatch);
    const bool stays = there != buffers_.end();
    std::rotate(stays ? there : buffers_.begin(), stays ? there + 1 : buffers_.begin() + 1,
                buffers_.end());
    Buffer& buffer = buffers_.back();
    if (stays) return 0;
    buffer.microbatch = microbatch;
    const Picos free = std::max(buffer.free_at, known);
    if (copy == 0) return free;
    in_until_ = std::max(in_until_, free) + copy;
    return in_until_;
  }
  // The microbatch that was given a buffer last is computed until `end`; what it wrote then takes
  // `copy` to go out.
  void computed(Picos end, Picos copy) {
    out_until_ = std::max(out_until_, end) + copy;
    buffers_.back().free_at = out_until_;
  }

 private:
  struct Buffer {
    std::uint64_t microbatch = ~std::uint64_t{0};
    Picos free_at = 0;
  };
  std::vector<Buffer> buffers_{};  // the one used last at the end
  Picos in_until_ = 0, out_until_ = 0;
};

}  // namespace aqua::sim
