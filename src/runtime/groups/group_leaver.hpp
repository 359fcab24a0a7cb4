// SPDX-License-Identifier: Apache-2.0
// GroupLeaver gives up places in groups in the background, again and again until the coordinator
// has heard it: a place that stays would be waited for.
//
// Threads: every method from any. Owns nothing; the queue is stopped before this goes.
#pragma once

#include <set>

#include "base/mutex.hpp"
#include "groups/types.hpp"
#include "runtime/second_look.hpp"
#include "runtime/services.hpp"

namespace aqua::runtime {

class GroupLeaver {
 public:
  explicit GroupLeaver(Services& services) : services_(services) {}

  void leave(const groups::GroupId& group) {
    {
      MutexLock lock(mu_);
      leaving_.insert(group);
    }
    again();
  }
  // Whether the coordinator has not heard it yet: who comes in again meanwhile would be thrown out.
  [[nodiscard]] bool leaves(const groups::GroupId& group) const {
    MutexLock lock(mu_);
    return leaving_.contains(group);
  }
  // A session has begun, or a second look at the coordinator that was wanted.
  void again() {
    MutexLock lock(mu_);
    if (leaving_.empty()) return;
    services_.coordinator_calls.post([this] { try_all(); });
  }

 private:
  void try_all() {
    std::set<groups::GroupId> all;
    {
      MutexLock lock(mu_);
      all = leaving_;
    }
    for (const groups::GroupId& group : all) {
      const auto left = services_.coordinator->leave_group(group);
      if (!left.ok() && left.error().code != Code::not_found) {
        // While there is no session the next one brings another try.
        services_.look_again(Clock::now() + SecondLook::kAfterFailure);
        continue;
      }
      MutexLock lock(mu_);
      leaving_.erase(group);
    }
  }

  Services& services_;
  mutable Mutex mu_;
  std::set<groups::GroupId> leaving_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::runtime
