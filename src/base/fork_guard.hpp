// SPDX-License-Identifier: Apache-2.0
// Keeps descriptors that stand for a process's identity out of its fork()ed children: a child that
// kept a lifeline open would make a dead parent look alive. Close-on-exec covers exec(); this
// covers a child that goes on without it.
#pragma once

#include <cstdint>

#include "base/unique_fd.hpp"

namespace aqua {

// A number that differs between a process and its children. Remember it and compare it later, to
// learn whether a fork lies between. Threads: any.
[[nodiscard]] std::uint64_t fork_generation();

// A UniqueFd that every child closes at the fork and never touches again, because its number may
// be another descriptor's by then. Move-only.
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
