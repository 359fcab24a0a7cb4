// SPDX-License-Identifier: Apache-2.0
#include "tools/http/call_limit.hpp"

#include <utility>

#include "base/try.hpp"
#include "tools/http/start_thread.hpp"

namespace aqua::http {

CallLimit::~CallLimit() {
  (void)end();
}

Result<void> CallLimit::begin(std::chrono::milliseconds limit, std::function<void()> lapse) {
  const auto until = std::chrono::steady_clock::now() + limit;
  AQUA_ASSIGN(thread_,
              start_thread([this, until, lapse = std::move(lapse)] { run(until, lapse); }));
  return {};
}

bool CallLimit::end() {
  {
    const MutexLock lock(mu_);
    over_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  const MutexLock lock(mu_);
  return lapsed_;
}

void CallLimit::run(std::chrono::steady_clock::time_point until,
                    const std::function<void()>& lapse) {
  {
    const MutexLock lock(mu_);
    while (!over_ && std::chrono::steady_clock::now() < until)
      (void)changed_.wait_until(mu_, until);
    if (over_) return;
    lapsed_ = true;
  }
  lapse();
}

}  // namespace aqua::http
