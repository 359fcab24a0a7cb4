// SPDX-License-Identifier: Apache-2.0
// FreeList: numbers of free slots, last in, first out, without a lock: a child forked at any
// moment can go on with it (at worst a slot is lost).
//
// Threads: every method may be called concurrently.
#pragma once

#include <atomic>
#include <cstdint>

namespace aqua::capi {

class FreeList {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // next(i): the atomic that belongs to slot i. Slots are never taken away, so a stale look at
  // one does no harm; the count in the head tells it from a fresh one.
  template <typename Next>
  void push(std::uint32_t index, Next&& next) noexcept {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      next(index).store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, bumped(head) | index, std::memory_order_release,
                                          std::memory_order_relaxed));
  }
  template <typename Next>
  [[nodiscard]] std::uint32_t pop(Next&& next) noexcept {
    std::uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      const auto index = static_cast<std::uint32_t>(head);
      if (index == kNone) return kNone;
      const std::uint64_t after = next(index).load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, bumped(head) | after, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        return index;
      }
    }
  }

 private:
  [[nodiscard]] static constexpr std::uint64_t bumped(std::uint64_t head) noexcept {
    return ((head >> 32) + 1) << 32;
  }
  std::atomic<std::uint64_t> head_{kNone};
};

}  // namespace aqua::capi
