// SPDX-License-Identifier: Apache-2.0
// An eventfd that is readable once somebody has signalled it: what a thread polls beside its
// descriptors, and what can go to another process.
//
// Threads: free functions; concurrent calls are fine.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "aqua/result.hpp"
#include "base/errno_error.hpp"
#include "base/unique_fd.hpp"

namespace aqua {

[[nodiscard]] inline Result<UniqueFd> make_wake_event() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return errno_error("eventfd");
  return event;
}

inline void signal_event(int event) noexcept {
  constexpr std::uint64_t kOne = 1;
  // Fails only where it has been signalled so often that it is readable anyway.
  (void)!::write(event, &kOne, sizeof kOne);
}

// It is not readable until the next signal.
inline void clear_event(int event) noexcept {
  std::uint64_t count = 0;
  (void)!::read(event, &count, sizeof count);
}

}  // namespace aqua
