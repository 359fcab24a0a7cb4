// SPDX-License-Identifier: Apache-2.0
// Gathered collects what is to be told, so that one call tells all of it: what comes while a call
// waits its turn goes with that call.
//
// Threads: every method may be called concurrently.
#pragma once

#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace aqua::runtime {

template <typename T>
class Gathered {
 public:
  // True for the first one since take(): the caller then posts the task that takes them.
  [[nodiscard]] bool add(T item) {
    const MutexLock lock(mu_);
    items_.push_back(std::move(item));
    return items_.size() == 1;
  }
  // All that was added, in order.
  [[nodiscard]] std::vector<T> take() {
    const MutexLock lock(mu_);
    return std::exchange(items_, {});
  }

 private:
  Mutex mu_;
  std::vector<T> items_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::runtime
