// SPDX-License-Identifier: Apache-2.0
// A coordinator for the benchmarks with real processes.
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
#include <utility>
#include <vector>

#include "must.hpp"

namespace aqua::bench {

// aqua-coordinator in a directory of its own, both gone with this object.
class Coordinator {
 public:
  // Returns once it listens, with `extra` arguments and its directory in `parent`. Before this
  // process has threads: it forks.
  explicit Coordinator(const std::string& binary, const std::vector<std::string>& extra = {},
                       const std::string& parent = "/tmp")
      : directory_(parent + "/aqua-bench-XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::exit((std::perror(parent.c_str()), 1));
    std::vector<std::string> words{"aqua-coordinator",   "--listen",    address(), "--data",
                                   directory_ + "/data", "--log-level", "warn"};
    words.insert(words.end(), extra.begin(), extra.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int out[2];
    if (::pipe2(out, O_CLOEXEC) != 0) std::exit(1);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(out[1], 1);
      ::execv(binary.c_str(), arguments.data());
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
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  std::string directory_;
  pid_t pid_ = 0;
};

}  // namespace aqua::bench
