// SPDX-License-Identifier: Apache-2.0
// MarkedWork does what is to be done once a stream has got so far: on a thread of its own, in the
// order in which it was posted.
//
// Threads: every method may be called concurrently, but stop(), which is the last.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "aqua/result.hpp"
#include "aqua/stream_mark.hpp"
#include "base/mutex.hpp"

namespace aqua {

template <typename Work>
class MarkedWork {
 public:
  // Called by the thread, without a lock: the mark was reached, with this outcome of its wait().
  using Reached = std::function<void(Work work, const StreamMark& mark, const Result<void>&)>;

  explicit MarkedWork(Reached reached) : reached_(std::move(reached)), thread_([this] { run(); }) {}
  ~MarkedWork() { stop(); }
  MarkedWork(const MarkedWork&) = delete;
  MarkedWork& operator=(const MarkedWork&) = delete;

  void post(StreamMark mark, Work work) AQUA_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    posted_.push_back({std::move(mark), std::move(work)});
    changed_.notify_one();
  }

  // Ends the thread once what was posted is done.
  void stop() AQUA_EXCLUDES(mu_) {
    if (!thread_.joinable()) return;
    {
      const MutexLock lock(mu_);
      ending_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }

 private:
  struct Posted {
    StreamMark mark;
    Work work;
  };

  void run() AQUA_EXCLUDES(mu_) {
    while (auto first = next()) {
      const auto outcome = first->mark.wait();
      reached_(std::move(first->work), first->mark, outcome);
    }
  }

  // Nothing: it ends.
  [[nodiscard]] std::optional<Posted> next() AQUA_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    while (posted_.empty() && !ending_) changed_.wait(mu_);
    if (posted_.empty()) return std::nullopt;
    Posted first = std::move(posted_.front());
    posted_.pop_front();
    return first;
  }

  const Reached reached_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Posted> posted_ AQUA_GUARDED_BY(mu_);
  bool ending_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace aqua
