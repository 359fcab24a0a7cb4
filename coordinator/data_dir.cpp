// SPDX-License-Identifier: Apache-2.0
#include "coordinator/data_dir.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/own_directory.hpp"
#include "base/try.hpp"
#include "tools/daemon/absolute_path.hpp"

namespace aqua::coordinator {
namespace {

std::string read_owner(int fd) {
  std::array<char, 32> text{};
  const ssize_t n = ::pread(fd, text.data(), text.size() - 1, 0);
  const std::string_view pid(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return std::string(pid.substr(0, pid.find_first_not_of("0123456789")));
}

}  // namespace

Result<bool> DataDir::check(const std::string& path) {
  const std::string parent = daemon::folder_of(path);
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    AQUA_TRY(open_own_directory("data directory", path));  // makes nothing where there is one
    return true;
  }
  if (errno != ENOENT || ::access(parent.c_str(), W_OK | X_OK) != 0)
    return errno_error(concat("create data directory ", path));
  return false;
}

Result<DataDir> DataDir::open(const std::string& path) {
  AQUA_ASSIGN(const UniqueFd dir, open_own_directory("data directory", path));
  UniqueFd lock(
      ::openat(dir.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!lock.valid()) return errno_error(concat("open ", path, "/lock"));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_error(concat("lock ", path, "/lock"));
    return Error{Code::already_exists,
                 concat("data directory ", path, " is in use by another coordinator, process ",
                        read_owner(lock.get()))};
  }
  const std::string pid = concat(::getpid(), "\n");
  if (::ftruncate(lock.get(), 0) != 0 || ::pwrite(lock.get(), pid.data(), pid.size(), 0) < 0) {
    return errno_error(concat("write ", path, "/lock"));
  }
  return DataDir(path, std::move(lock));
}

}  // namespace aqua::coordinator
