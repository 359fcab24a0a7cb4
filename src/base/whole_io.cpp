// SPDX-License-Identifier: Apache-2.0
#include "base/whole_io.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/errno_error.hpp"

namespace aqua {

Result<std::size_t> read_at(int fd, std::uint64_t offset, std::span<std::byte> into,
                            std::string_view what) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(what);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Result<void> write_at(int fd, std::uint64_t offset, std::span<const std::byte> bytes,
                      std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno_error(what);
    offset += static_cast<std::uint64_t>(done);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return {};
}

}  // namespace aqua
