// SPDX-License-Identifier: Apache-2.0
// Pace spreads the connections of a process that makes too many of them over time, so that those
// of other processes, of the same user too, need not wait behind them.
//
// Threads: one.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <unordered_map>

namespace aqua::coordinator {

class Pace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // How long a connection may wait for its turn.
  static constexpr std::chrono::milliseconds kMostWait{250};

  // `rate`: turns a second of one process, a second's worth of them at once; at least 1.
  explicit Pace(std::size_t rate)
      : interval_(std::chrono::seconds{1} / static_cast<double>(rate)) {}

  // When a connection that `process` has made at `now` has its turn: at once, or later where it has
  // used up its second's worth. nullopt: it would wait longer than kMostWait, and uses up nothing.
  [[nodiscard]] std::optional<Time> turn_of(pid_t process, Time now);
  // The same of who is at the other end of a Unix socket; at once where the kernel names nobody
  // here, as of another pid namespace.
  [[nodiscard]] std::optional<Time> turn_of_peer(int socket, Time now);
  [[nodiscard]] std::size_t processes() const { return used_until_.size(); }  // for tests

 private:
  using Interval = std::chrono::duration<double>;

  const Interval interval_;
  // By process: when it will have all of its second's worth again.
  std::unordered_map<pid_t, Time> used_until_;
};

}  // namespace aqua::coordinator
