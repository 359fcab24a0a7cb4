// SPDX-License-Identifier: Apache-2.0
// RunDelays tells for how long a busy machine has kept the threads of some processes waiting that
// wanted to run, by the kernel's own count (/proc/PID/task/TID/schedstat): the only thing that may
// be added to a promised time. Over all threads, so that it is at least what any chain of them
// lost.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <vector>

namespace aqua::kill_test {

class RunDelays {
 public:
  // From now on.
  explicit RunDelays(std::vector<pid_t> processes);
  [[nodiscard]] std::chrono::milliseconds so_far() const;

 private:
  [[nodiscard]] std::map<pid_t, std::chrono::nanoseconds> by_thread() const;

  const std::vector<pid_t> processes_;
  const std::map<pid_t, std::chrono::nanoseconds> before_;
};

}  // namespace aqua::kill_test
