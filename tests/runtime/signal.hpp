// SPDX-License-Identifier: Apache-2.0
// Something that happens once, and can be waited for.
#pragma once

#include <chrono>
#include <future>

namespace aqua::runtime {

// A limit for failures: calibration is slow under TSan.
inline constexpr std::chrono::seconds kPatience{60};

class Signal {
 public:
  void set() { promise_.set_value(); }
  [[nodiscard]] bool wait() const {
    return future_.wait_for(kPatience) == std::future_status::ready;
  }

 private:
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
};

}  // namespace aqua::runtime
