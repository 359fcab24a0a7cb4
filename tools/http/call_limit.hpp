// SPDX-License-Identifier: Apache-2.0
// CallLimit ends a call that takes too long, whatever is heard of it meanwhile: an end that is
// asked for by another thread is all that a blocking call heeds.
//
// Threads: one of its own while it runs; begin() and end() by one.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "aqua/result.hpp"
#include "base/mutex.hpp"

namespace aqua::http {

class CallLimit {
 public:
  CallLimit() = default;
  ~CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

  // Once. `lapse` is called in the limit's thread when so much time is over before end().
  // resource_exhausted when no thread can be started.
  [[nodiscard]] Result<void> begin(std::chrono::milliseconds limit, std::function<void()> lapse);
  // Whether it has lapsed. `lapse` has returned then, or is not called any more.
  bool end();

 private:
  void run(std::chrono::steady_clock::time_point until, const std::function<void()>& lapse);

  Mutex mu_;
  CondVar changed_;
  bool over_ AQUA_GUARDED_BY(mu_) = false;
  bool lapsed_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aqua::http
