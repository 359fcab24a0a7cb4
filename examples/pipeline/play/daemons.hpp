// SPDX-License-Identifier: Apache-2.0
// Daemons are those that the pipelines of one server need: the coordinator, and the keeper, where
// KV is streamed or replicated. Of two servers TwoServers has the keepers.
//
// Threads: one, which lives as long as they. Errors: Failure.
#pragma once

#include <poll.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "options.hpp"
#include "play/coordinator.hpp"
#include "play/daemon.hpp"
#include "play/start.hpp"

namespace aqua::pipeline {

class Daemons {
 public:
  // Returns once they listen; their sockets and data lie in `directory`.
  Daemons(const Options& options, const std::filesystem::path& directory)
      : coordinator_(options, directory) {
    if (options.has_keeper()) {
      keeper_.emplace("keeper", keeper_line(options, directory),
                      std::chrono::milliseconds(options.ttl_ms));
    }
  }

  [[nodiscard]] Coordinator& coordinator() { return coordinator_; }
  // nullptr: there is none.
  [[nodiscard]] Daemon* keeper() { return keeper_ ? &*keeper_ : nullptr; }
  // As Daemon::look().
  void look() {
    coordinator_.look();
    if (keeper_) keeper_->look();
  }
  // What poll() is to look at: their deaths.
  void watch(std::vector<pollfd>& into) const {
    into.push_back({coordinator_.pidfd(), POLLIN, 0});
    if (keeper_) into.push_back({keeper_->pidfd(), POLLIN, 0});
  }

 private:
  Coordinator coordinator_;
  std::optional<Daemon> keeper_{};
};

}  // namespace aqua::pipeline
