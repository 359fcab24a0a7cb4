// SPDX-License-Identifier: Apache-2.0
// Inbox is where everything reaches an engine's thread: requests, orders, connections that have
// ended, and that there is news of the pool or of its own memory.
//
// Threads: post() and close() any; the rest the engine's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "aqua/handoff/carrier.hpp"
#include "serve/outbox.hpp"
#include "speech/asked.hpp"
#include "speech/orders.hpp"

namespace aqua::fleet {

struct Arrival {
  Asked asked{};
  std::shared_ptr<Outbox> out{};
};
struct Hangup {
  std::shared_ptr<Outbox> out{};
};
struct Ordered {
  Order order{};
  std::shared_ptr<std::promise<bool>> known{};  // whether such an attempt is here
};
struct PoolNews {};
// The carrier's keeper was away and is there again: the carrier, attached anew. Of a pool nothing
// is in it yet.
struct PoolBack {
  std::shared_ptr<Carrier> carrier{};
};
struct MemoryNews {};  // lent memory came back
using News = std::variant<Arrival, Hangup, Ordered, PoolNews, PoolBack, MemoryNews>;

class Inbox {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Once it is closed, refuses an arrival and drops everything else.
  void post(News news) {
    const std::lock_guard lock(mu_);
    if (closed_) return drop(news);
    news_.push_back(std::move(news));
    changed_.notify_all();
  }
  // Nobody takes anything any more: arrivals that are here are refused.
  void close() {
    const std::lock_guard lock(mu_);
    closed_ = true;
    for (const News& news : news_) drop(news);
    news_.clear();
    changed_.notify_all();
  }
  [[nodiscard]] bool closed() const {
    const std::lock_guard lock(mu_);
    return closed_;
  }
  [[nodiscard]] std::vector<News> take() {
    const std::lock_guard lock(mu_);
    return std::exchange(news_, {});
  }
  // Until there is any.
  void wait() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return closed_ || !news_.empty(); });
  }
  // Until there is any, for so long at most. False: none came.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds patience) {
    std::unique_lock lock(mu_);
    return changed_.wait_for(lock, patience, [this] { return closed_ || !news_.empty(); });
  }
  // Until then, or the inbox is closed.
  void wait_until(Time until) {
    std::unique_lock lock(mu_);
    changed_.wait_until(lock, until, [this] { return closed_; });
  }

 private:
  static void drop(const News& news) {
    if (const auto* arrival = std::get_if<Arrival>(&news))
      arrival->out->refuse("the engine has failed");
  }

  mutable std::mutex mu_;
  std::condition_variable changed_;
  std::vector<News> news_{};
  bool closed_ = false;
};

}  // namespace aqua::fleet
