// SPDX-License-Identifier: Apache-2.0
// Sweeps end parcels that wait in KV pools for nobody: of requests whose move has failed, or whose
// engines have died. Any engine of the pool can end one; whoever is asked may be dead itself, so
// that the engines are asked one after another, and again, until one of them has done it.
//
// Threads: every method may be called concurrently. One of its own asks the engines.
// Owns:    no connection between two sweeps. What is left when it is destroyed is not swept.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "tools/router/fleet/engine.hpp"

namespace aqua::router {

class Sweeps {
 public:
  // The engines of a pool that are up. Called on the sweeps' thread.
  using EnginesOf =
      std::function<std::vector<std::shared_ptr<const EngineDoor>>(const std::string& pool)>;

  // Between two tries of a sweep that no engine has done: `again`.
  Sweeps(EnginesOf engines, std::chrono::milliseconds again);
  ~Sweeps();
  Sweeps(const Sweeps&) = delete;
  Sweeps& operator=(const Sweeps&) = delete;

  // What parcel of the request waits in the pool is to end; that none does is as good. At most 4096
  // are remembered: beyond them one is forgotten, whose parcel waits for its role's next taker.
  void add(const std::string& pool, const std::string& request);
  // The request moves again: its next parcel, of a higher turn, ends the earlier one. Waits for the
  // engine that is asked just now, whose answer would end the next parcel, too.
  void forget(const std::string& pool, const std::string& request);
  // That no engine has done yet.
  [[nodiscard]] std::size_t waiting() const;

 private:
  using Sweep = std::pair<std::string, std::string>;  // pool, request

  void run(const std::stop_token& stop);
  // Whether it is still to be done. If so it is under way until end().
  [[nodiscard]] bool begin(const Sweep& sweep);
  void end(const Sweep& sweep, bool done);
  [[nodiscard]] bool carry_out(const Sweep& sweep, const std::stop_token& stop) const;

  const EnginesOf engines_;
  const std::chrono::milliseconds again_;
  mutable Mutex mu_;
  CondVar changed_;
  std::set<Sweep> due_ AQUA_GUARDED_BY(mu_);
  std::optional<Sweep> under_way_ AQUA_GUARDED_BY(mu_);
  bool added_ AQUA_GUARDED_BY(mu_) = false;  // since the last round
  bool over_ AQUA_GUARDED_BY(mu_) = false;
  std::jthread thread_;
};

}  // namespace aqua::router
