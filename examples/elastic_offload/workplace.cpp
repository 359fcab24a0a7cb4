#include "workplace.hpp"

#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "must.hpp"

namespace aqua::example {

PrivateDirectory::PrivateDirectory() {
  constexpr std::size_t kLongest = 60;         // a socket's path has 107 bytes at most
  const char* wanted = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): no other thread yet
  std::string path = wanted != nullptr && std::strlen(wanted) < kLongest ? wanted : "/tmp";
  path += "/aqua-demo-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw Failure(path + ": " + std::strerror(errno));
  path_ = path;
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;
  (void)std::filesystem::remove_all(path_, ignored);
}

StopSignals::StopSignals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  fd_ = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.valid()) throw Failure("signalfd: " + std::string(std::strerror(errno)));
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
