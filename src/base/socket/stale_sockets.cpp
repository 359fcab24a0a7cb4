// SPDX-License-Identifier: Apache-2.0
#include "base/socket/stale_sockets.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <memory>

#include "base/socket/unix_socket.hpp"

namespace aqua {
namespace {

constexpr std::time_t kOldSeconds = 60;

// True for a Unix socket that is older than a minute.
bool is_old_socket(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) &&
         status.st_mtime < std::time(nullptr) - kOldSeconds;
}

}  // namespace

// Uses readdir(), because std::filesystem's iterators end the process when memory runs out. Only a
// refused connection proves that nobody listens; any other answer leaves the file alone.
void remove_stale_sockets(const std::string& directory, std::string_view prefix) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  if (open == nullptr) return;
  while (const dirent* entry = ::readdir(open.get())) {  // NOLINT(concurrency-mt-unsafe): our own
    if (!std::string_view(entry->d_name).starts_with(prefix)) continue;
    const std::string path = directory + "/" + entry->d_name;
    if (!is_old_socket(path)) continue;
    const auto probe = connect_seqpacket(path, std::chrono::milliseconds(100));
    if (!probe.ok() && probe.error().code == Code::unavailable) (void)::unlink(path.c_str());
  }
}

}  // namespace aqua
