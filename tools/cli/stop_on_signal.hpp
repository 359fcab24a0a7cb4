// SPDX-License-Identifier: Apache-2.0
// StopOnSignal: the first SIGINT or SIGTERM asks for a stop, a second ends the program at once.
//
// Threads: one of its own. Make it before there are others: they must inherit the blocked signals.
#pragma once

#include <signal.h>

#include <stop_token>
#include <thread>

namespace aqua::tool {

class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  void await();

  sigset_t signals_{}, before_{};
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace aqua::tool
