// SPDX-License-Identifier: Apache-2.0
// Interrupt ends a wait in poll() from another thread; it stays raised until cleared.
//
// Threads: every method may be called concurrently.
#pragma once

#include "aqua/result.hpp"
#include "base/fork_guard.hpp"

namespace aqua::southbound {

class Interrupt {
 public:
  [[nodiscard]] static Result<Interrupt> open();

  void raise() const noexcept;
  void clear() const noexcept;
  [[nodiscard]] bool raised() const noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }  // readable while raised

 private:
  explicit Interrupt(ForkGuardedFd fd) : fd_(std::move(fd)) {}
  ForkGuardedFd fd_;  // an eventfd
};

}  // namespace aqua::southbound
