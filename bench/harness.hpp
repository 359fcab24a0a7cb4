// What the benchmarks with real processes share: a coordinator of their own, and giving up.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <type_traits>

#include "aqua/result.hpp"

namespace aqua::bench {

template <typename T>
T must(Result<T> result, const char* what) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s: %s\n", what, result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

// aqua-coordinator in a directory of its own, both gone with this object.
class Coordinator {
 public:
  // Returns once it listens. Before this process has threads: it forks.
  explicit Coordinator(const std::string& binary) {
    char pattern[] = "/tmp/aqua-bench-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    int out[2];
    if (::pipe2(out, O_CLOEXEC) != 0) std::exit(1);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(out[1], 1);
      ::execl(binary.c_str(), "aqua-coordinator", "--listen", address().c_str(), "--data",
              (directory_ + "/data").c_str(), "--log-level", "warn", nullptr);
      std::perror(binary.c_str());
      std::_Exit(1);
    }
    ::close(out[1]);
    char line[256];
    if (::read(out[0], line, sizeof line) <= 0) std::exit(1);
    ::close(out[0]);
  }
  ~Coordinator() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(directory_);
  }
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  [[nodiscard]] std::string address() const { return "unix:" + directory_ + "/c.sock"; }
  [[nodiscard]] const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  pid_t pid_ = 0;
};

}  // namespace aqua::bench
