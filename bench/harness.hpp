// SPDX-License-Identifier: Apache-2.0
// Daemons for the benchmarks with real processes.
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

// A program in a directory of its own, both gone with this object.
class ProgramInDirectory {
 public:
  // `words` are its name and arguments; those that begin with "%/" name something in the directory.
  // Returns once it has written a line. Before this process has threads: it forks.
  ProgramInDirectory(const std::string& binary, std::vector<std::string> words,
                     const std::string& parent)
      : directory_(parent + "/aqua-bench-XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::exit((std::perror(parent.c_str()), 1));
    std::vector<char*> arguments;
    for (std::string& word : words) {
      if (const auto at = word.find("%/"); at != std::string::npos) word.replace(at, 1, directory_);
      arguments.push_back(word.data());
    }
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
  ~ProgramInDirectory() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(directory_);
  }
  ProgramInDirectory(const ProgramInDirectory&) = delete;
  ProgramInDirectory& operator=(const ProgramInDirectory&) = delete;

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  std::string directory_;
  pid_t pid_ = 0;
};

// aqua-coordinator, with `extra` arguments and its directory in `parent`.
class Coordinator : public ProgramInDirectory {
 public:
  explicit Coordinator(const std::string& binary, const std::vector<std::string>& extra = {},
                       const std::string& parent = "/tmp")
      : ProgramInDirectory(binary, words(extra), parent) {}

  [[nodiscard]] std::string address() const { return "unix:" + directory() + "/c.sock"; }

 private:
  static std::vector<std::string> words(const std::vector<std::string>& extra) {
    std::vector<std::string> all{"aqua-coordinator", "--listen",    "unix:%/c.sock", "--data",
                                 "%/data",           "--log-level", "warn"};
    all.insert(all.end(), extra.begin(), extra.end());
    return all;
  }
};

// aqua-keeper.
class Keeper : public ProgramInDirectory {
 public:
  // `more` are arguments, of which those that begin with "%/" name something in its directory.
  explicit Keeper(const std::string& binary, const std::vector<std::string>& more = {})
      : ProgramInDirectory(binary, words(more), "/tmp") {}

  [[nodiscard]] std::string socket() const { return directory() + "/k.sock"; }

 private:
  static std::vector<std::string> words(const std::vector<std::string>& more) {
    std::vector<std::string> all{"aqua-keeper", "--socket", "%/k.sock"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

}  // namespace aqua::bench
