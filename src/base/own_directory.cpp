// SPDX-License-Identifier: Apache-2.0
#include "base/own_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/concat.hpp"
#include "base/environment.hpp"
#include "base/errno_error.hpp"

namespace aqua {

Result<UniqueFd> open_own_directory(std::string_view what, std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();  // open() follows "link/"
  const std::string name = concat(what, " ", path);
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return errno_error(concat("create ", name));
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) {
    if (errno != ELOOP && errno != ENOTDIR) return errno_error(concat("open ", name));
    return Error{Code::permission_denied, concat(name, " must be a directory, and no link to one")};
  }
  struct stat info {};
  if (::fstat(directory.get(), &info) != 0) return errno_error(concat("stat ", name));
  if (info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{Code::permission_denied, concat(name, " must belong to user ", ::geteuid(),
                                                 " and be writable by nobody else")};
  }
  return directory;
}

std::string default_own_directory() {
  const std::string given = environment("XDG_RUNTIME_DIR");
  if (given.starts_with('/')) return concat(given, "/aqua");
  return concat("/tmp/aqua-", ::getuid());
}

}  // namespace aqua
