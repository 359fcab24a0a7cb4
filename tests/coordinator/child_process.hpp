// SPDX-License-Identifier: Apache-2.0
// A program started by a test, with its output in reach; killed and reaped at the end.
//
// Threads: one. The thread that starts it must outlive it: it dies with that thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace aqua::testing {

class ChildProcess {
 public:
  // arguments[0] is the program. Its stderr goes to `stderr_path`, or stays where it is.
  explicit ChildProcess(const std::vector<std::string>& arguments,
                        const std::string& stderr_path = {});
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  void stop() const;  // SIGSTOP; all of its threads have stopped when this returns
  // Since the last call something has stopped it.
  [[nodiscard]] bool has_stopped() const;
  // The next line of its stdout, without the newline; "" at its end, or after 60 seconds.
  [[nodiscard]] std::string read_line();
  // Waits for the end: the exit status, or 128 and the signal.
  int wait();

 private:
  pid_t pid_ = -1;  // -1: reaped
  int status_ = 0;
  UniqueFd stdout_;
  std::string buffer_;
};

}  // namespace aqua::testing
