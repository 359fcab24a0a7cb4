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
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
  // The request moves again: its next parcel, of a higher turn, ends the earlier one. No engine is
  // asked from now on. One that is asked just now is waited for, since it would end the next
  // parcel: until it has answered, or its time of two seconds is over and the connection is cut.
  void forget(const std::string& pool, const std::string& request);
  // That no engine has done yet.
  [[nodiscard]] std::size_t waiting() const;

 private:
  using Sweep = std::pair<std::string, std::string>;  // pool, request
  using Sweeping = std::map<Sweep, std::uint64_t>;    // by which add() each was wanted

  void run(const std::stop_token& stop);
  // Whether an engine has done it.
  [[nodiscard]] bool carry_out(const Sweeping::value_type& wanted, const std::stop_token& stop);
  // An engine is asked, if it is still wanted; and has answered, or has not in time.
  [[nodiscard]] bool begin_asking(const Sweeping::value_type& wanted);
  void end_asking();
  // It was neither forgotten nor, after that, wanted once more.
  [[nodiscard]] bool is_wanted(const Sweeping::value_type& wanted) const AQUA_REQUIRES(mu_);

  const EnginesOf engines_;
  const std::chrono::milliseconds again_;
  mutable Mutex mu_;
  CondVar changed_;
  Sweeping due_ AQUA_GUARDED_BY(mu_);
  std::uint64_t last_ AQUA_GUARDED_BY(mu_) = 0;
  std::optional<Sweep> asked_ AQUA_GUARDED_BY(mu_);  // of an engine, just now
  bool added_ AQUA_GUARDED_BY(mu_) = false;          // since the last round
  bool over_ AQUA_GUARDED_BY(mu_) = false;
  std::jthread thread_;
};

}  // namespace aqua::router
