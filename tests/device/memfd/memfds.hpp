// SPDX-License-Identifier: Apache-2.0
// Anonymous files that are not quite slabs, for importers to judge.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "base/memory/memfd.hpp"
#include "base/unique_fd.hpp"

namespace aqua::device {

inline constexpr std::size_t kBytes = std::size_t{2} << 20;  // of a slab
inline constexpr int kLentSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Invalid where the kernel does not know a flag.
inline UniqueFd memfd(std::size_t bytes, int seals, unsigned flags = MFD_ALLOW_SEALING) {
  UniqueFd fd(::memfd_create("not-quite-a-slab", MFD_CLOEXEC | flags));
  if (!fd.valid()) return fd;
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) std::abort();
  if (seals != 0 && ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) std::abort();
  return fd;
}

}  // namespace aqua::device
