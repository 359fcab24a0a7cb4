// SPDX-License-Identifier: Apache-2.0
// ChildProcess: one process started by the orchestrator, with pipes to its stdin and stdout.
//
// Threads: not thread-safe; spawn on a thread that lives as long as the children shall, since
//          the roles ask the kernel to kill them when it ends (die_with_parent()).
// Owns:    the process and the pipes. The destructor kills what still runs, and reaps it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fd.hpp"
#include "json_lines.hpp"

namespace aqua::example {

class ChildProcess {
 public:
  // arguments[0] is the program's path. In a process group of its own, so that a Ctrl-C at
  // the terminal reaches the orchestrator alone. Throws Failure.
  ChildProcess(std::string name, const std::vector<std::string>& arguments);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] int output() const noexcept { return output_.get(); }  // its stdout, to poll
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }    // readable once it has ended
  [[nodiscard]] LineReader& lines() noexcept { return lines_; }

  // As write_line().
  bool send(const nlohmann::json& message, const std::function<void()>& while_full = {}) {
    return write_line(input_.get(), message, while_full);
  }
  void close_input() noexcept { input_.reset(); }
  void signal(int number) noexcept;
  // Its wait status, once it has ended; waits up to `patience`.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds patience);

 private:
  std::string name_;
  pid_t pid_ = -1;  // -1: moved from
  std::optional<int> status_;
  Fd pidfd_, input_, output_;
  LineReader lines_;
};

// "exited with status 1", "killed by signal 11"
[[nodiscard]] std::string describe_status(int wait_status);

// Throws a Failure about a process that has closed its output: "lender exited with status 1".
[[noreturn]] void throw_ended(ChildProcess& process);

// Reads the process's lines until one has `text` in it, and returns that. Throws Failure when it
// ends instead, or after `patience`.
std::string await_line(ChildProcess& process, const std::string& text,
                       std::chrono::seconds patience);

// Asks the kernel to kill this process when the thread of `parent` that started it ends.
void die_with_parent(pid_t parent);

}  // namespace aqua::example
