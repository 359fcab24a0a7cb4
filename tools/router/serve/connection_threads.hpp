// SPDX-License-Identifier: Apache-2.0
// ConnectionThreads gives every connection a thread, up to a number; one more is served by the
// caller, who is told so by full() and turns it away at once.
//
// Threads: serve() by one, the accepting, and shutdown() after the last of it; the rest from any.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/mutex.hpp"

namespace aqua::router {

class ConnectionThreads {
 public:
  explicit ConnectionThreads(std::size_t most) : most_(most) {}

  void serve(std::function<void()> connection);
  // Waits for all of them.
  void shutdown();
  // Whether this connection has no thread of its own.
  [[nodiscard]] static bool full();

 private:
  // False: there is no thread for it.
  [[nodiscard]] bool give(std::function<void()>& connection) AQUA_EXCLUDES(mu_);
  void work() AQUA_EXCLUDES(mu_);

  const std::size_t most_;
  Mutex mu_;
  CondVar changed_;
  std::vector<std::function<void()>> waiting_ AQUA_GUARDED_BY(mu_);  // each has an idle thread
  std::size_t threads_ AQUA_GUARDED_BY(mu_) = 0;
  std::size_t idle_ AQUA_GUARDED_BY(mu_) = 0;
  bool over_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua::router
