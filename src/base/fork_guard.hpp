// SPDX-License-Identifier: Apache-2.0
// What a fork()ed child must not inherit: descriptors that stand for the parent's identity.
// A child that kept a lifeline open would keep a dead parent looking alive.
//
// Close-on-exec covers exec(); this covers the child that goes on without it.
#pragma once

#include <cstdint>

#include "base/unique_fd.hpp"

namespace aqua {

// Differs between a process and its children: remember it, and compare to learn whether a
// fork lies between. Threads: any.
[[nodiscard]] std::uint64_t fork_generation();

// A UniqueFd that is closed in every child at once, and left alone there afterwards: its
// number may be somebody else's by then. Move-only.
//
// Threads: one object as any value; different objects concurrently.
class ForkGuardedFd {
 public:
  ForkGuardedFd() = default;
  explicit ForkGuardedFd(UniqueFd fd);
  ForkGuardedFd(ForkGuardedFd&& other) noexcept;
  ForkGuardedFd& operator=(ForkGuardedFd&& other) noexcept;
  ~ForkGuardedFd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  void reset() noexcept;

 private:
  int fd_ = -1;
  std::uint64_t generation_ = 0;
};

}  // namespace aqua
