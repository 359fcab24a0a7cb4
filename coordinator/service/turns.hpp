// SPDX-License-Identifier: Apache-2.0
// Turns batches work that needs one resource exclusively, as in a group commit: callers that come
// while it is busy wait, and the first of them then does the work of all who waited: one lock and
// one commit for many.
//
// Threads: take() may be called concurrently, from anywhere but inside of a take().
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace aqua::coordinator {

template <typename Work>
class Turns {
 public:
  // Returns when `work` is done: by `do_all`, a void(std::span<Work* const>) that must not throw,
  // called here with it and others, or by another caller's.
  template <typename DoAll>
  void take(Work& work, DoAll&& do_all) {
    Turn turn;
    MutexLock lock(mu_);
    // All that can fail, before anything changes.
    if (works_.size() == works_.capacity()) works_.reserve(2 * works_.size() + 1);
    waiting_.push_back(&turn);
    works_.push_back(&work);
    while (!turn.done && (busy_ || waiting_.front() != &turn)) turn.came.wait(mu_);
    if (turn.done) return;
    const std::vector<Turn*> turns = std::exchange(waiting_, {});
    const std::vector<Work*> works = std::exchange(works_, {});
    busy_ = true;
    mu_.unlock();
    std::forward<DoAll>(do_all)(std::span<Work* const>(works));
    mu_.lock();
    busy_ = false;
    for (Turn* each : turns) {
      each->done = true;
      if (each != &turn) each->came.notify_one();
    }
    if (!waiting_.empty()) waiting_.front()->came.notify_one();
  }

 private:
  struct Turn {
    CondVar came;  // it is done, or the first that waits
    bool done = false;
  };

  Mutex mu_;
  std::vector<Turn*> waiting_ AQUA_GUARDED_BY(mu_);
  std::vector<Work*> works_ AQUA_GUARDED_BY(mu_);  // of those who wait, in their order
  bool busy_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua::coordinator
