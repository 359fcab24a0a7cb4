// SPDX-License-Identifier: Apache-2.0
#include "base/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/unique_fd.hpp"

namespace aqua {

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return errno_error(concat("cannot open ", path.native()));
  return read_file_of(fd.get(), path.native(), limit);
}

Result<std::string> read_file_of(int fd, std::string_view name, std::size_t limit) {
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  constexpr std::size_t kTrusted = std::size_t{1} << 20;
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_error(concat("cannot read ", name));
  std::string text;
  // A small file fits at once, with room for the read that finds its end. A size only hints: files
  // grow, those of /proc tell 0 or terabytes, and of anything else it means nothing. So room beyond
  // a little is made as bytes arrive.
  const auto hint = S_ISREG(info.st_mode) ? static_cast<std::size_t>(info.st_size) : kChunk;
  std::size_t room = std::min({hint, kTrusted, limit}) + 1;
  for (std::size_t size = 0;; room = std::min(std::max(kChunk, size), limit + 1 - size)) {
    text.resize(size + room);
    const ssize_t n = ::read(fd, text.data() + size, room);
    if (n < 0 && errno != EINTR) return errno_error(concat("cannot read ", name));
    if (n > 0) size += static_cast<std::size_t>(n);
    if (size > limit) {
      return Error{Code::resource_exhausted, concat(name, " is larger than ", limit, " bytes")};
    }
    text.resize(size);
    if (n == 0) return text;
  }
}

}  // namespace aqua
