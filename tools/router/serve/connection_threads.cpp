// SPDX-License-Identifier: Apache-2.0
#include "tools/router/serve/connection_threads.hpp"

#include <system_error>
#include <thread>
#include <utility>

namespace aqua::router {
namespace {

constexpr std::chrono::seconds kIdle{10};

thread_local bool turned_away = false;

}  // namespace

bool ConnectionThreads::full() {
  return turned_away;
}

bool ConnectionThreads::give(std::function<void()>& connection) {
  const MutexLock lock(mu_);
  if (idle_ > waiting_.size()) {
    waiting_.push_back(std::move(connection));
    changed_.notify_all();
    return true;
  }
  if (threads_ == most_) return false;
  try {
    std::thread([this] { work(); }).detach();
  } catch (const std::system_error&) {  // this machine has no thread more
    return false;
  }
  ++threads_;
  ++idle_;
  waiting_.push_back(std::move(connection));
  return true;
}

void ConnectionThreads::serve(std::function<void()> connection) {
  if (give(connection)) return;
  turned_away = true;
  connection();
  turned_away = false;
}

void ConnectionThreads::work() {
  for (;;) {
    std::function<void()> connection;
    {
      const MutexLock lock(mu_);
      const auto until = std::chrono::steady_clock::now() + kIdle;
      while (waiting_.empty() && !over_ && changed_.wait_until(mu_, until)) continue;
      --idle_;
      if (waiting_.empty()) {
        --threads_;
        changed_.notify_all();  // under the lock: shutdown() may take this object with it
        return;
      }
      connection = std::move(waiting_.back());
      waiting_.pop_back();
    }
    connection();
    const MutexLock lock(mu_);
    ++idle_;
  }
}

void ConnectionThreads::shutdown() {
  const MutexLock lock(mu_);
  over_ = true;
  changed_.notify_all();
  while (threads_ > 0) changed_.wait(mu_);
}

}  // namespace aqua::router
