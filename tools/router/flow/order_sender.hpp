// SPDX-License-Identifier: Apache-2.0
// OrderSender tells an engine of one request's attempts, beside the streams: one order after
// another, since to abandon a move says nothing to an engine that has not heard of the move. The
// request's thread does not wait for the answers: an engine may be stopped.
//
// Threads: one of its own, while there is something to tell; post() and over() by one.
// Ends:    with the last answer, or the destructor, which cuts it short.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "tools/http/http_client.hpp"
#include "tools/router/fleet/engine.hpp"
#include "tools/router/speech/dialect.hpp"

namespace aqua::router {

class OrderSender {
 public:
  // Called in the sender's thread, or in post() where none can be started; not once it was cut
  // short. With an error where the engine did not take the order, which does not name the engine.
  using Done = std::function<void(const Result<void>&)>;

  // `patience`: that the engine may take for each order.
  explicit OrderSender(std::shared_ptr<const EngineEndpoint> engine,
                       std::chrono::seconds patience = std::chrono::seconds(30));
  ~OrderSender();
  OrderSender(const OrderSender&) = delete;
  OrderSender& operator=(const OrderSender&) = delete;

  // The engine is told once it has answered all that was posted before, or has let its time pass.
  void post(EngineCall call, Done done);
  [[nodiscard]] bool over() const;

 private:
  struct Order {
    EngineCall call{};
    Done done{};
  };
  void run();
  [[nodiscard]] Result<void> tell(const EngineCall& call);

  const std::shared_ptr<const EngineEndpoint> engine_;
  http::HttpClient client_;
  std::atomic<bool> cut_{false};
  mutable Mutex mu_;
  std::deque<Order> due_ AQUA_GUARDED_BY(mu_);
  bool runs_ AQUA_GUARDED_BY(mu_) = false;  // there is a thread, and it looks for more
  std::thread thread_;
};

}  // namespace aqua::router
