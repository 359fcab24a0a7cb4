// SPDX-License-Identifier: Apache-2.0
// For tests of a keeper in this process: its memory that goes is not freed for a while.
//
// Threads: any may come to free something; the rest is the test's. One at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>

#include "base/step.hpp"

namespace aqua::test {

// As long as it lives, whoever is about to free a slab stands still.
class NothingIsFreed {
 public:
  NothingIsFreed() {
    const std::lock_guard lock(mutex_);
    standing_ = 0;
    open_ = false;
    step_hook = [](const char* name) {
      if (name != std::string_view("free")) return;
      std::unique_lock here(mutex_);
      ++standing_;
      changed_.notify_all();
      changed_.wait(here, [] { return open_; });
    };
  }
  ~NothingIsFreed() {
    step_hook = nullptr;
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  NothingIsFreed(const NothingIsFreed&) = delete;
  NothingIsFreed& operator=(const NothingIsFreed&) = delete;

  // So many threads have come to it; false where they have not for a minute.
  [[nodiscard]] static bool stand(unsigned threads) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return standing_ >= threads; });
  }

 private:
  static inline std::mutex mutex_;
  static inline std::condition_variable changed_;
  static inline unsigned standing_ = 0;
  static inline bool open_ = false;
};

}  // namespace aqua::test
