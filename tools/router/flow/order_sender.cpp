// SPDX-License-Identifier: Apache-2.0
#include "tools/router/flow/order_sender.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/http/start_thread.hpp"

namespace aqua::router {

OrderSender::OrderSender(std::shared_ptr<const EngineEndpoint> engine,
                         std::chrono::seconds patience)
    : engine_(std::move(engine)),
      client_(engine_->url, {.api_key = engine_->api_key, .timeout = patience, .whole = patience}) {
}

OrderSender::~OrderSender() {
  if (!cut_.exchange(true)) client_.stop();
  if (thread_.joinable()) thread_.join();
}

bool OrderSender::over() const {
  const MutexLock lock(mu_);
  return !runs_;
}

void OrderSender::post(EngineCall call, Done done) {
  {
    const MutexLock lock(mu_);
    due_.push_back({std::move(call), std::move(done)});
    if (std::exchange(runs_, true)) return;
  }
  if (thread_.joinable()) thread_.join();  // it has said its last
  auto thread = http::start_thread([this] { run(); });
  if (thread.ok()) {
    thread_ = std::move(thread).value();
    return;
  }
  std::deque<Order> untold;
  {
    const MutexLock lock(mu_);
    untold = std::exchange(due_, {});
    runs_ = false;
  }
  for (const Order& order : untold) order.done(thread.error());
}

void OrderSender::run() {
  for (;;) {
    Order order;
    {
      const MutexLock lock(mu_);
      if (due_.empty() || cut_) {
        runs_ = false;
        return;
      }
      order = std::move(due_.front());
      due_.pop_front();
    }
    const auto told = tell(order.call);
    if (!cut_) order.done(told);
  }
}

Result<void> OrderSender::tell(const EngineCall& call) {
  AQUA_ASSIGN(const http::Reply reply,
              client_.post(call.path, call.body,
                           [](std::string_view, auto) { return http::Heard::something; }));
  if (reply.status == 200) return {};
  return Error{reply.status == 404 ? Code::not_found : Code::unavailable,
               concat("answers ", reply.status, ": ", http::error_text(reply.body))};
}

}  // namespace aqua::router
