// SPDX-License-Identifier: Apache-2.0
// Coordinator is the daemon that knows the pipelines' groups: who has died is started anew with
// what it has written down. The orchestrator hears of the groups through a runtime of its own.
//
// Threads: one, which lives as long as it. Errors: Failure.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "aqua/runtime.hpp"
#include "options.hpp"
#include "play/daemon.hpp"

namespace aqua::pipeline {

class Coordinator {
 public:
  // Returns once it listens; its socket and data lie in `directory`. `etcd`: where it finds
  // coordinators of hosts; empty: there is none but it.
  Coordinator(const Options& options, const std::filesystem::path& directory,
              const std::string& etcd);

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] Runtime& runtime() { return *runtime_; }
  // As those of a Daemon.
  [[nodiscard]] int pidfd() const { return daemon_.pidfd(); }
  void signal(int number) { daemon_.signal(number); }
  void look();
  [[nodiscard]] unsigned deaths() const { return daemon_.deaths(); }
  [[nodiscard]] unsigned stops() const { return daemon_.stops(); }
  // A process that the coordinator has not heard of since then has been silent by itself. After a
  // death or a stop that is a while after the coordinator is back, since clients come back at
  // random times: it may lie ahead. nullopt: the coordinator is not back yet.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> hears_since() const {
    return hears_since_;
  }

 private:
  const std::string address_;
  Daemon daemon_;
  std::optional<Runtime> runtime_{};
  std::optional<std::chrono::steady_clock::time_point> hears_since_{};
};

}  // namespace aqua::pipeline
