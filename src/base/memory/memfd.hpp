// SPDX-License-Identifier: Apache-2.0
// An anonymous file in memory that can be sealed.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/unique_fd.hpp"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif

namespace aqua {

// With these nobody writes, resizes or unseals it any more.
inline constexpr int kSealedForGood = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

// Makes an empty one, close-on-exec, and never executable where the kernel knows how to promise
// that: one with vm.memfd_noexec=2 creates no other memfd. On failure not valid; errno says why.
[[nodiscard]] inline UniqueFd create_memfd(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd fd(::memfd_create(name, kFlags | MFD_NOEXEC_SEAL));
  if (!fd.valid() && errno == EINVAL) fd.reset(::memfd_create(name, kFlags));
  return fd;
}

// Takes the pages that the file's first `bytes` lack: a process that writes to one for which there
// is no memory is killed. On failure false, and errno says why.
[[nodiscard]] inline bool take_pages(int fd, std::size_t bytes) {
  constexpr std::size_t kPiece = 8 << 20;  // a signal undoes the one that it interrupts
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece = std::min(kPiece, bytes - done);
    if (::fallocate(fd, 0, static_cast<off_t>(done), static_cast<off_t>(piece)) == 0) {
      done += piece;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace aqua
