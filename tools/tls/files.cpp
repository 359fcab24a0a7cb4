// SPDX-License-Identifier: Apache-2.0
#include "tools/tls/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"

namespace aqua::tls {

Result<UniqueFd> open_regular(const std::string& path) {
  // Without waiting for a pipe's other end.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return errno_error(path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error(path);
  if (S_ISREG(info.st_mode)) return fd;
  return Error{Code::failed_precondition, concat(path, ": not a regular file")};
}

Result<UniqueFd> open_secret(const std::string& path) {
  AQUA_ASSIGN(UniqueFd fd, open_regular(path));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error(path);
  const mode_t forbidden = info.st_uid == 0 ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
  if ((info.st_mode & forbidden) != 0) {
    return Error{Code::failed_precondition,
                 concat(path, ": others than its owner may read or write it: chmod 600")};
  }
  if (info.st_uid == 0 || info.st_uid == ::geteuid()) return fd;
  return Error{Code::failed_precondition,
               concat(path, ": is neither this user's nor root's file: chown")};
}

}  // namespace aqua::tls
