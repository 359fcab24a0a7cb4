// SPDX-License-Identifier: Apache-2.0
// Errand tells an engine one thing, beside the streams: an order about an attempt. The request's
// thread does not wait for it, since an engine may be stopped.
//
// Threads: one of its own. Ends: with the answer, or the destructor, which cuts it short.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "aqua/result.hpp"
#include "tools/http/http_client.hpp"
#include "tools/router/fleet/engine.hpp"
#include "tools/router/speech/dialect.hpp"

namespace aqua::router {

class Errand {
 public:
  // `done` is called in the errand's thread, unless it was cut short: with an error where the
  // engine did not take the order.
  Errand(std::shared_ptr<const EngineDoor> engine, EngineCall call,
         std::function<void(const Result<void>&)> done);
  ~Errand();
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  [[nodiscard]] bool over() const noexcept { return over_; }

 private:
  void run();

  const std::shared_ptr<const EngineDoor> engine_;
  const EngineCall call_;
  const std::function<void(const Result<void>&)> done_;
  http::HttpClient client_;
  std::atomic<bool> cut_{false}, over_{false};
  std::thread thread_;
};

}  // namespace aqua::router
