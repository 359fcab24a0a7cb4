// SPDX-License-Identifier: Apache-2.0
// ConnectionThreads gives every connection a thread, up to a number; one more is served by the
// caller, who is told so by full() and turns it away at once.
//
// Threads: enqueue() and shutdown() by one, the accepting; the rest from any.
#pragma once

#include <httplib.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/mutex.hpp"

namespace aqua::router {

class ConnectionThreads final : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(std::size_t most) : most_(most) {}

  void enqueue(std::function<void()> connection) override;
  // Waits for all of them.
  void shutdown() override;
  // Whether this connection has no thread of its own.
  [[nodiscard]] static bool full();

 private:
  void serve() AQUA_EXCLUDES(mu_);

  const std::size_t most_;
  Mutex mu_;
  CondVar changed_;
  std::vector<std::function<void()>> waiting_ AQUA_GUARDED_BY(mu_);  // each has an idle thread
  std::size_t threads_ AQUA_GUARDED_BY(mu_) = 0;
  std::size_t idle_ AQUA_GUARDED_BY(mu_) = 0;
  bool over_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua::router
