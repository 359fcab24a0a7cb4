// SPDX-License-Identifier: Apache-2.0
// Retries says when a connection that was lost is to be made anew, and whether why it was lost is
// news.
//
// Threads: one at a time.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace aqua::courier {

class Retries {
 public:
  // `stop`, an event, ends pause().
  explicit Retries(int stop) : stop_(stop) {}

  void connected() {
    since_ = Clock::now();
    said_.clear();
  }
  // It is lost, for this reason. True: nobody has been told this one since it was there last.
  [[nodiscard]] bool lost(const std::string& why) {
    // Who is displaced at once, or ends at once, is not to try again at once.
    if (since_ && Clock::now() - *since_ > 2 * kLongestPause) pause_ = kFirstPause;
    since_.reset();
    return std::exchange(said_, why) != why;
  }
  // Whether it was not stopped meanwhile.
  [[nodiscard]] bool pause() {
    pollfd stopped{stop_, POLLIN, 0};
    const auto now = std::exchange(pause_, std::min(2 * pause_, kLongestPause));
    return ::poll(&stopped, 1, static_cast<int>(now.count())) == 0;
  }

 private:
  using Clock = std::chrono::steady_clock;
  // Before the next connection.
  static constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{5000};

  const int stop_;
  std::chrono::milliseconds pause_ = kFirstPause;
  std::optional<Clock::time_point> since_{};  // when it was connected
  std::string said_{};
};

}  // namespace aqua::courier
