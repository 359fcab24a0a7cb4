// SPDX-License-Identifier: Apache-2.0
// Which engines of a fleet are up: those in use, and spare ones. Counts the time of all of them.
#pragma once

#include <cassert>
#include <cstddef>
#include <functional>
#include <vector>

#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

class Power {
 public:
  struct Rules {
    std::size_t spare = 1;  // beside those in use, and up at 0
    bool fixed = false;     // all are up for ever
    Picos boot = 0;
    Picos linger = 0;  // an engine that is no longer used stays up so long
    // Told of each engine that is switched on or off, if not empty. With it, `boot` is not read:
    // the caller says ready().
    std::function<void(std::size_t, bool on, Picos now)> turned{};
  };
  Power(std::size_t engines, const Rules& rules);

  enum class State : std::uint8_t { off, booting, up };
  [[nodiscard]] State state(std::size_t engine) const { return state_[engine]; }
  // When the next engine comes up, or has lingered; kNever: none will.
  [[nodiscard]] Picos next() const;
  // The engine that boots comes up now.
  void ready(std::size_t engine, Picos now) { up_at_[engine] = now; }
  // Engines that have come up by `now`.
  [[nodiscard]] std::vector<std::size_t> come_up(Picos now);
  // Boots those that are used and off, and as many more as are to be spare; switches the others off
  // that have lingered.
  void settle(const std::function<bool(std::size_t)>& used, Picos now);

  [[nodiscard]] std::size_t powered() const noexcept { return powered_; }
  [[nodiscard]] std::uint64_t boots() const noexcept { return boots_; }
  [[nodiscard]] double engine_seconds(Picos now) const {
    assert(now >= counted_);
    return engine_seconds_ + static_cast<double>(powered_) * seconds(now - counted_);
  }

 private:
  void turn(std::size_t engine, bool on, Picos now);

  const Rules rules_;
  std::vector<State> state_;
  std::vector<Picos> up_at_;          // of those that boot; kNever: nobody knows, or of others
  std::vector<Picos> lingers_until_;  // of those that are unused and not off; kNever: of others
  std::size_t powered_ = 0;
  std::uint64_t boots_ = 0;
  double engine_seconds_ = 0;
  Picos counted_ = 0;
};

}  // namespace aqua::sim
