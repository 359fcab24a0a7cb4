// SPDX-License-Identifier: Apache-2.0
// Daemon is one that pipelines need, run as a service manager would: who has died is started anew,
// and who was stopped goes on after a while.
//
// Threads: one, which lives as long as it. Errors: Failure, also where it ends by itself.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "child_process.hpp"

namespace aqua::pipeline {

class Daemon {
 public:
  // `line` starts it, and it says once it is listening: then this returns. Where it is stopped it
  // goes on after `stops_last`.
  Daemon(std::string name, std::vector<std::string> line, std::chrono::milliseconds stops_last);

  // Readable once it has died.
  [[nodiscard]] int pidfd() const { return process_->pidfd(); }
  // SIGKILL or SIGSTOP: from then on it does not listen.
  void signal(int number);
  // Starts it anew where it has died, and lets it go on where it was stopped for long enough. To be
  // called again and again.
  void look();
  // Looks until it listens.
  void await_listening();
  // Whether its present life does, and is not stopped, as far as is known.
  [[nodiscard]] bool listens() const { return listens_ && !stopped_ && !killed_; }
  [[nodiscard]] unsigned deaths() const { return deaths_; }
  [[nodiscard]] unsigned stops() const { return stops_; }

 private:
  void start();

  const std::string name_;
  const std::vector<std::string> line_;
  const std::chrono::milliseconds stops_last_;
  std::optional<example::ChildProcess> process_{};
  std::optional<std::chrono::steady_clock::time_point> stopped_{};
  bool listens_ = false, killed_ = false;  // its present life has said so; was killed by signal()
  unsigned deaths_ = 0, stops_ = 0;
};

}  // namespace aqua::pipeline
