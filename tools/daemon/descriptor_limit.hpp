// SPDX-License-Identifier: Apache-2.0
// How many file descriptors this process may have, for programs that talk to many at once.
// Threads: plain functions.
#pragma once

#include <sys/resource.h>

namespace aqua::daemon {

// Raises this process's limit to the hard limit. False when the kernel refused.
[[nodiscard]] inline bool raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace aqua::daemon
