// SPDX-License-Identifier: Apache-2.0
#include "workplace.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace aqua::example {

namespace {

constexpr int kStops[] = {SIGINT, SIGTERM, SIGHUP};

constexpr char kPrefix[] = "aqua-demo-";

// The directory's lock, which ends with the process that holds it.
Fd lock_directory(const std::filesystem::path& path, int how) {
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.valid() && ::flock(directory.get(), how) != 0) directory.reset();
  return directory;
}

// Removes our directories in `parent` that nobody holds. An empty one may be in the making.
void sweep(const std::filesystem::path& parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    struct stat status {};
    if (::lstat(entry.path().c_str(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    const Fd lock = lock_directory(entry.path(), LOCK_EX | LOCK_NB);
    if (!lock.valid() || std::filesystem::is_empty(entry.path(), ignored)) continue;
    (void)std::filesystem::remove_all(entry.path(), ignored);
  }
}

}  // namespace

PrivateDirectory::PrivateDirectory() {
  constexpr std::size_t kLongest = 60;         // a socket's path has 107 bytes at most
  const char* wanted = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): no other thread yet
  const std::filesystem::path parent =
      wanted != nullptr && std::strlen(wanted) < kLongest ? wanted : "/tmp";
  sweep(parent);
  std::string path = parent / (std::string(kPrefix) + "XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) throw Failure(path + ": " + std::strerror(errno));
  path_ = path;
  lock_ = lock_directory(path_, LOCK_EX);
  if (!lock_.valid()) throw Failure(path + ": cannot be locked: " + std::strerror(errno));
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;
  (void)std::filesystem::remove_all(path_, ignored);
}

StopSignals::StopSignals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : kStops) ::sigaddset(&signals, signal);
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  fd_ = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.valid()) throw Failure("signalfd: " + std::string(std::strerror(errno)));
}

void StopSignals::check() const {
  sigset_t pending;  // looked at without taking one from the descriptor
  if (::sigpending(&pending) != 0) return;
  for (const int signal : kStops) {
    if (::sigismember(&pending, signal) == 1) throw Interrupted(signal);
  }
}

std::uint64_t proportional_bytes(pid_t pid) {
  std::ifstream rollup("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string word; rollup >> word;) {
    std::uint64_t kib = 0;
    if (word == "Pss:" && rollup >> kib) return kib << 10;
  }
  return 0;
}

}  // namespace aqua::example
