// SPDX-License-Identifier: Apache-2.0
#include "southbound/interrupt.hpp"

#include <poll.h>

#include <utility>

#include "base/try.hpp"
#include "base/wake_event.hpp"

namespace aqua::southbound {

Result<Interrupt> Interrupt::open() {
  AQUA_ASSIGN(UniqueFd fd, make_wake_event());
  return Interrupt(ForkGuardedFd(std::move(fd)));
}

void Interrupt::raise() const noexcept {
  signal_event(fd_.get());
}

void Interrupt::clear() const noexcept {
  clear_event(fd_.get());
}

bool Interrupt::raised() const noexcept {
  pollfd poll_fd{fd_.get(), POLLIN, 0};
  return ::poll(&poll_fd, 1, 0) == 1;
}

}  // namespace aqua::southbound
