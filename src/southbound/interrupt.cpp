// SPDX-License-Identifier: Apache-2.0
#include "southbound/interrupt.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/errno_error.hpp"

namespace aqua::southbound {

Result<Interrupt> Interrupt::open() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return errno_error("eventfd");
  return Interrupt(ForkGuardedFd(std::move(fd)));
}

void Interrupt::raise() const noexcept {
  const std::uint64_t one = 1;
  // Fails only where it is raised 2^64 times already.
  [[maybe_unused]] const ssize_t n = ::write(fd_.get(), &one, sizeof one);
}

void Interrupt::clear() const noexcept {
  std::uint64_t count = 0;
  // Fails where it is not raised.
  [[maybe_unused]] const ssize_t n = ::read(fd_.get(), &count, sizeof count);
}

bool Interrupt::raised() const noexcept {
  pollfd poll_fd{fd_.get(), POLLIN, 0};
  return ::poll(&poll_fd, 1, 0) == 1;
}

}  // namespace aqua::southbound
