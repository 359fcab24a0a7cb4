// SPDX-License-Identifier: Apache-2.0
// Revocation is a couple that goes round: a slab offered, leased, watched; reclaimed when the
// schedule says so; given back, scrubbed, and the next one offered.
//
// Threads: one.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "coordinator_bench/http_loop.hpp"
#include "coordinator_bench/server.hpp"
#include "coordinator_bench/session.hpp"
#include "coordinator_bench/watcher.hpp"

namespace aqua::bench {

class Revocation {
 public:
  // All borrowed; delays in milliseconds are added to `delays_ms`.
  Revocation(HttpLoop& http, const Server& server, const Couple& couple,
             std::vector<double>& delays_ms);

  // The consumer holds a slab and watches.
  [[nodiscard]] bool ready() const { return ready_; }
  // The producer reclaims the slab. The delay is from `due` until the watcher has read of it.
  void reclaim(Clock::time_point due);

 private:
  void prepare();
  void follow();
  void half_done();
  void after(std::string request, void (Revocation::*then)());

  HttpLoop& http_;
  const Server& server_;
  const Couple& couple_;
  std::vector<double>& delays_ms_;
  Watcher watcher_;
  std::deque<std::string> steps_;  // requests still to make before it is ready
  std::uint32_t slab_ = 0;
  int halves_ = 0;  // of a revocation: the watcher's and the reclaim's own reply
  Clock::time_point due_;
  bool ready_ = false;
};

}  // namespace aqua::bench
