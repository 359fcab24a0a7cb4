// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/act/file_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "base/whole_io.hpp"

namespace aqua::sharing {

Result<std::unique_ptr<FileSource>> FileSource::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return errno_error(path);
  if (!S_ISREG(info.st_mode)) {
    return Error{Code::invalid_argument, concat(path, ": is no ordinary file")};
  }
  return std::unique_ptr<FileSource>(new FileSource(path, std::move(fd), info));
}

Result<void> FileSource::check_unchanged() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return errno_error(path_);
  if (static_cast<std::uint64_t>(info.st_size) == bytes_ &&
      info.st_mtim.tv_sec == changed_.tv_sec && info.st_mtim.tv_nsec == changed_.tv_nsec) {
    return {};
  }
  return Error{Code::aborted, concat(path_, ": was written while it was read")};
}

Result<void> FileSource::read(std::uint64_t offset, std::span<std::byte> to) {
  AQUA_ASSIGN(const std::size_t read, read_at(fd_.get(), offset, to, path_));
  if (read == to.size()) return {};
  return Error{Code::invalid_argument, concat(path_, ": has become shorter")};
}

}  // namespace aqua::sharing
