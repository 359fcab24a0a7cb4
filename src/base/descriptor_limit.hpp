// SPDX-License-Identifier: Apache-2.0
// How many file descriptors this process may have, for programs that talk to many at once.
// Threads: plain functions.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace aqua {

// Raises this process's limit to the hard limit. False when the kernel refused.
[[nodiscard]] inline bool raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// True when this process, or the machine, has no descriptor left: a call that failed for want of
// one would fail again.
[[nodiscard]] inline bool no_descriptor_left() {
  const int one = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (one < 0) return errno == EMFILE || errno == ENFILE;
  ::close(one);
  return false;
}

}  // namespace aqua
