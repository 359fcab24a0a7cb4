// SPDX-License-Identifier: Apache-2.0
// Child is a process that the orchestrator runs, talks to by JSON lines, and ends.
//
// Threads: one. Owns: the process, killed and reaped on destruction, and the pipes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "tests/base/eventually.hpp"

namespace aqua::kill_test {

using Clock = std::chrono::steady_clock;
using test::eventually;

class Child {
 public:
  // `log` gets its stderr. It is killed when this process ends.
  Child(const std::vector<std::string>& argv, const std::string& log);
  ~Child();
  Child(Child&& other) noexcept = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  // The next line it writes; nullopt when it ends, or writes none in `patience`.
  std::optional<std::string> read_line(std::chrono::milliseconds patience);
  // False when it no longer reads.
  bool write_line(const std::string& line);

  void signal(int number) const;
  [[nodiscard]] bool stopped();  // by SIGSTOP, since the last SIGCONT
  [[nodiscard]] bool dead();
  [[nodiscard]] bool killed();  // dead by SIGKILL, rather than by an end of its own
  void kill_and_reap();

 private:
  void look();  // takes what waitpid() tells
  void take(int status);

  pid_t pid_ = -1;
  UniqueFd to_;
  UniqueFd from_;
  std::string unread_;
  bool stopped_ = false;
  bool dead_ = false;
  bool killed_ = false;
};

}  // namespace aqua::kill_test
