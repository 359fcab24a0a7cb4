// SPDX-License-Identifier: Apache-2.0
// Sweeps end parcels that wait in KV pools for nobody: of requests that have moved, or should have,
// and of whose engines one has died. Any engine of the pool can end one; whoever is asked may be
// dead itself, so that the engines are asked one after another, and again, until one has done it.
//
// A parcel that couriers carry from one pool to another is with the first one's keeper until it has
// ended at the second one's. So both are swept in this order, again and again, until neither has
// anything: what had left the first one by then was in the second one when that was swept.
//
// A sweep names the turn of the move. Parcels of later moves have higher turns and are
// not touched, so that a request moves again without waiting for the sweep of an earlier move.
//
// Threads: every method may be called concurrently; none waits. One of its own asks the engines.
// Owns:    no connection between two sweeps. What is left when it is destroyed is not swept.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "tools/router/fleet/engine.hpp"

namespace aqua::router {

class Sweeps {
 public:
  static constexpr std::size_t kMost = 4096;

  // The engines of a pool that are up. Called on the sweeps' thread.
  using EnginesOf =
      std::function<std::vector<std::shared_ptr<const EngineEndpoint>>(const std::string& pool)>;

  using Clock = std::chrono::steady_clock;

  // Between two tries of a sweep that no engine has done: `again`.
  Sweeps(EnginesOf engines, std::chrono::milliseconds again);
  ~Sweeps();
  Sweeps(const Sweeps&) = delete;
  Sweeps& operator=(const Sweeps&) = delete;

  // Names a move of a request from one pool to another, or within one.
  struct Name {
    std::string from{}, to{};  // pools
    std::string request{};
    auto operator<=>(const Name&) const = default;
  };
  // What parcel of the request waits there under this turn or a lower one is to end; that none does
  // is as good. At most kMost are remembered: beyond them the oldest is forgotten, whose parcel
  // waits for its role's next taker.
  void add(const Name& name, Turn up_to);
  // That no engine has done yet.
  [[nodiscard]] std::size_t waiting() const;
  // For how long the oldest of them has been wanted; 0: there is none.
  [[nodiscard]] Clock::duration oldest() const;
  // That were forgotten so far, because there were too many.
  [[nodiscard]] std::uint64_t forgotten() const;

 private:
  struct Sweep {
    Turn up_to = kNoTurn;
    std::uint64_t wanted_as = 0;  // the number of the last add() of it
    Clock::time_point since{};    // of the first
    Clock::time_point next{};     // not to be tried earlier
  };

  void run(const std::stop_token& stop);
  [[nodiscard]] std::map<Name, Sweep> due_by(Clock::time_point now) const AQUA_REQUIRES(mu_);
  [[nodiscard]] Clock::time_point next_try() const AQUA_REQUIRES(mu_);
  [[nodiscard]] bool carry_out(const Name& name, Turn up_to, const std::stop_token& stop) const;
  // Whether an engine of the pool has done it.
  [[nodiscard]] bool sweep(const std::string& pool, const EngineCall& call,
                           const std::stop_token& stop) const;

  const EnginesOf engines_;
  const std::chrono::milliseconds again_;
  mutable Mutex mu_;
  CondVar changed_;
  std::map<Name, Sweep> wanted_ AQUA_GUARDED_BY(mu_);
  std::uint64_t last_ AQUA_GUARDED_BY(mu_) = 0, forgotten_ AQUA_GUARDED_BY(mu_) = 0;
  bool over_ AQUA_GUARDED_BY(mu_) = false;
  std::jthread thread_;
};

}  // namespace aqua::router
