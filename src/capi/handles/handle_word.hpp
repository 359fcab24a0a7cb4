// SPDX-License-Identifier: Apache-2.0
// HandleWord: the life of one slot of a handle table, in one atomic word.
//
//   generation (32 bits) | live (1) | keeps (20) | calls (11)
//
//   empty --publish--> live --end--> ending --last call and keep gone--> empty, next generation
//                        ^-------reopen-------'
//
// A call takes the slot while it uses the object and drops it afterwards; a keep is held by
// another object for its whole life. Whoever drops the last of an ending slot destroys the
// object: nobody else can reach it.
//
// Threads: every method may be called concurrently, under the conditions it states.
#pragma once

#include <atomic>
#include <cstdint>

namespace aqua::capi {

class HandleWord {
 public:
  static constexpr std::uint64_t kCall = 1;
  static constexpr std::uint64_t kKeep = std::uint64_t{1} << 11;
  static constexpr std::uint64_t kLive = std::uint64_t{1} << 31;
  static constexpr std::uint64_t kMostCalls = kKeep - 1;
  static constexpr std::uint64_t kMostKeeps = kLive / kKeep - 1;

  enum class Take : std::uint8_t { ok, gone, ending, crowded };

  // Adds a call to the object of this generation. Cheap: one compare-and-swap.
  [[nodiscard]] Take take(std::uint32_t generation) noexcept { return change(generation, 0); }
  // The same, and no further call can be added: from now on the slot is ending.
  [[nodiscard]] Take end(std::uint32_t generation) noexcept { return change(generation, kLive); }

  // Drops a call or a keep; true when the object is the caller's to destroy.
  [[nodiscard]] bool drop(std::uint64_t unit) noexcept {
    const std::uint64_t before = word_.fetch_sub(unit, std::memory_order_acq_rel);
    return (before & 0xffff'ffff) == unit;  // it was not live, and nothing is left
  }
  // Adds a keep. The caller has a call or a keep already.
  void keep() noexcept { word_.fetch_add(kKeep, std::memory_order_relaxed); }

  // The three of a slot that only the caller can reach: empty, or ended by it.
  void publish() noexcept { word_.fetch_or(kLive, std::memory_order_release); }
  // Next generation. False when there is none: the slot must not be used again.
  [[nodiscard]] bool retire() noexcept {
    const std::uint64_t next = (word_.load(std::memory_order_relaxed) >> 32) + 1;
    word_.store(next << 32, std::memory_order_release);
    return (next << 32) != 0;
  }
  void reopen() noexcept { word_.fetch_or(kLive, std::memory_order_release); }

  [[nodiscard]] std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_acquire) >> 32);
  }
  [[nodiscard]] bool occupied() const noexcept { return (load() & 0xffff'ffff) != 0; }
  [[nodiscard]] std::uint64_t keeps() const noexcept { return (load() & (kLive - 1)) / kKeep; }
  [[nodiscard]] std::uint64_t calls() const noexcept { return load() & kMostCalls; }

 private:
  [[nodiscard]] std::uint64_t load() const noexcept {
    return word_.load(std::memory_order_acquire);
  }
  [[nodiscard]] Take change(std::uint32_t generation, std::uint64_t cleared) noexcept {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    do {
      if (static_cast<std::uint32_t>(seen >> 32) != generation) return Take::gone;
      if ((seen & kLive) == 0) return Take::ending;
      if ((seen & kMostCalls) == kMostCalls) return Take::crowded;
    } while (!word_.compare_exchange_weak(seen, (seen - cleared) + kCall, std::memory_order_acquire,
                                          std::memory_order_relaxed));
    return Take::ok;
  }

  std::atomic<std::uint64_t> word_{std::uint64_t{1} << 32};  // generations begin at 1
};

}  // namespace aqua::capi
