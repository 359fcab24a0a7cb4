// SPDX-License-Identifier: Apache-2.0
// Watcher is a client's long poll: it waits for a revocation, over as many replies as it takes.
//
// Threads: one.
#pragma once

#include <functional>
#include <string>

#include "coordinator_bench/http_loop.hpp"
#include "coordinator_bench/server.hpp"
#include "coordinator_bench/session.hpp"

namespace aqua::bench {

class Watcher {
 public:
  // All borrowed.
  Watcher(HttpLoop& http, const Server& server, const Session& session)
      : http_(http), server_(server), session_(session) {}

  // Calls `revoked` with the moment when a reply told of one; once.
  void wait(std::function<void(Clock::time_point)> revoked);

 private:
  void poll(const std::string& query);

  HttpLoop& http_;
  const Server& server_;
  const Session& session_;
  std::uint64_t last_ = 0;  // event seen
  std::function<void(Clock::time_point)> revoked_;
};

}  // namespace aqua::bench
