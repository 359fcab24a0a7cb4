// SPDX-License-Identifier: Apache-2.0
// Coordinator is the daemon that knows the pipelines' groups, run as a service manager would: who
// has died is started anew, with what it has written down, and who was stopped goes on after a
// while. The orchestrator hears of the groups through a runtime of its own.
//
// Threads: one, which lives as long as it. Errors: Failure.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "aqua/runtime.hpp"
#include "child_process.hpp"
#include "options.hpp"

namespace aqua::pipeline {

class Coordinator {
 public:
  // Returns once it listens; its socket and data lie in `directory`.
  Coordinator(const Options& options, const std::filesystem::path& directory);

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] Runtime& runtime() { return *runtime_; }
  // Readable once it has died.
  [[nodiscard]] int pidfd() const { return process_->pidfd(); }
  void signal(int number) { process_->signal(number); }
  // Starts it anew where it has died, and lets it go on where it was stopped for long enough. To be
  // called again and again.
  void look();
  // A process that the coordinator has not heard of since then has been silent by itself. After a
  // death or a stop that is a while after the coordinator is back, since clients come back at
  // random times: it may lie ahead. nullopt: the coordinator is not back yet.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> hears_since() const {
    return hears_since_;
  }
  [[nodiscard]] unsigned deaths() const { return deaths_; }
  [[nodiscard]] unsigned stops() const { return stops_; }

 private:
  void start();

  const Options options_;
  const std::filesystem::path directory_;
  const std::string address_;
  std::optional<example::ChildProcess> process_{};
  std::optional<Runtime> runtime_{};
  std::optional<std::chrono::steady_clock::time_point> stopped_{}, hears_since_{};
  bool listens_ = true;  // of its present life; false until it has said so
  unsigned deaths_ = 0, stops_ = 0;
};

}  // namespace aqua::pipeline
