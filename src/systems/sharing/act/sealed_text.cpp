// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/act/sealed_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/memfd.hpp"

namespace aqua::sharing {

Result<UniqueFd> seal_text(std::string_view text) {
  UniqueFd fd = create_memfd("aqua-manifest");
  if (!fd.valid()) return errno_error("manifest: memfd_create");
  while (!text.empty()) {
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_error("manifest: write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, kSealedForGood) != 0)
    return errno_error("manifest: F_ADD_SEALS");
  return fd;
}

Result<std::string> read_sealed_text(int fd, std::size_t most) {
  struct stat info {};
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSealedForGood) != kSealedForGood || ::fstat(fd, &info) != 0) {
    return Error{Code::invalid_argument, "manifest: its descriptor is no memfd that is sealed"};
  }
  const auto bytes = static_cast<std::size_t>(info.st_size);
  if (bytes > most) {
    return Error{Code::invalid_argument, concat("manifest: is longer than ", most, " bytes")};
  }
  std::string text(bytes, '\0');
  for (std::size_t done = 0; done < bytes;) {
    // pread(): the offset is shared with every other reader's descriptor.
    const ssize_t got = ::pread(fd, &text[done], bytes - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return errno_error("manifest: read");
    done += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace aqua::sharing
