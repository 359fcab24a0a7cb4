// SPDX-License-Identifier: Apache-2.0
// News wakes the engine's thread that waits for something of the keeper's to happen: of one member,
// or of several that it waits for together.
//
// Threads: every method may be called concurrently. Only wait() blocks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/deadline.hpp"
#include "base/mutex.hpp"

namespace aqua {

class News {
 public:
  void tell() {
    const MutexLock lock(mu_);
    ++told_;
    came_.notify_all();
  }
  // Blocks until something was told since the last call. False: nothing was within `patience`.
  [[nodiscard]] bool wait(std::chrono::milliseconds patience) {
    const auto deadline = deadline_after(patience);
    const MutexLock lock(mu_);
    while (told_ == seen_) {
      if (!came_.wait_until(mu_, deadline)) break;
    }
    return std::exchange(seen_, told_) != told_;
  }

 private:
  Mutex mu_;
  CondVar came_;
  std::uint64_t told_ AQUA_GUARDED_BY(mu_) = 0, seen_ AQUA_GUARDED_BY(mu_) = 0;
};

}  // namespace aqua
