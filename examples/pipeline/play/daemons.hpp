// SPDX-License-Identifier: Apache-2.0
// Daemons are those that the pipelines need: the coordinator, and the keeper, where KV is streamed
// or replicated on one server. Of two servers TwoServers has the keepers. Where there are Hosts,
// each has its own coordinator and keeper, and the coordinator here is the orchestrator's, which
// shares their etcd.
//
// Threads: one, which lives as long as they. Errors: Failure.
#pragma once

#include <poll.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hosts/hosts.hpp"
#include "options.hpp"
#include "play/coordinator.hpp"
#include "play/daemon.hpp"
#include "play/start.hpp"

namespace aqua::pipeline {

class Daemons {
 public:
  // Returns once they listen; their sockets and data lie in `directory`.
  Daemons(const Options& options, const std::filesystem::path& directory)
      : hosts_(options.hosts > 0 ? std::make_unique<Hosts>(options, directory) : nullptr),
        coordinator_(options, directory, hosts_ ? hosts_->etcd() : std::string()) {
    if (options.has_keeper()) {
      keeper_.emplace("keeper", keeper_line(options, directory),
                      std::chrono::milliseconds(options.ttl_ms));
    }
  }

  [[nodiscard]] Coordinator& coordinator() { return coordinator_; }
  // nullptr: there are none.
  [[nodiscard]] Hosts* hosts() { return hosts_.get(); }
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
  std::unique_ptr<Hosts> hosts_;
  Coordinator coordinator_;
  std::optional<Daemon> keeper_{};
};

}  // namespace aqua::pipeline
