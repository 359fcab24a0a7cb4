// SPDX-License-Identifier: Apache-2.0
// Claims sees to it that of two connections of one kind by one peer only the later one counts, and
// begins once the earlier one has let go of everything: the peer's courier has begun anew, or found
// the earlier one broken before we did.
//
// Threads: every method may be called concurrently.
#pragma once

#include <map>
#include <string>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "base/wake_event.hpp"

namespace aqua::courier {

class Claims {
 public:
  // Waits until the earlier one of this kind has been released, whose `stop` event is signalled.
  // cancelled: a later one has come meanwhile, or all end.
  [[nodiscard]] Result<void> claim(const std::string& kind, int stop) {
    const MutexLock lock(mu_);
    Line& line = lines_[kind];
    const std::uint64_t mine = ++last_;
    line.newest = mine;
    released_.notify_all();  // who waits for it is the last no more
    if (line.holder_stop >= 0) signal_event(line.holder_stop);
    ++line.waiting;
    while (line.holder_stop >= 0 && line.newest == mine && !ended_) released_.wait(mu_);
    --line.waiting;
    if (!ended_ && line.newest == mine) {
      line.holder_stop = stop;
      return {};
    }
    forget(kind);
    return Error{Code::cancelled, "courier: a later one came"};
  }
  // Whether a later one waits for who has claimed it.
  [[nodiscard]] bool is_awaited(const std::string& kind) {
    const MutexLock lock(mu_);
    return lines_.at(kind).waiting != 0;
  }
  // Whoever has claimed it has let go of everything.
  void release(const std::string& kind) {
    const MutexLock lock(mu_);
    lines_.at(kind).holder_stop = -1;
    forget(kind);
    released_.notify_all();
  }
  // Nobody waits any more.
  void end() {
    const MutexLock lock(mu_);
    ended_ = true;
    released_.notify_all();
  }

 private:
  struct Line {
    std::uint64_t newest = 0;
    int holder_stop = -1;  // -1: nobody has it
    unsigned waiting = 0;
  };
  // Unless somebody has it or waits for it.
  void forget(const std::string& kind) AQUA_REQUIRES(mu_) {
    const Line& line = lines_.at(kind);
    if (line.holder_stop < 0 && line.waiting == 0) lines_.erase(kind);
  }

  Mutex mu_;
  CondVar released_;
  std::map<std::string, Line> lines_ AQUA_GUARDED_BY(mu_);
  std::uint64_t last_ AQUA_GUARDED_BY(mu_) = 0;
  bool ended_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua::courier
