// SPDX-License-Identifier: Apache-2.0
// Gives the pages of closed slabs back to the system, off the way of whoever closed them.
//
// A GPU driver releases a slab in microseconds; a core frees a memfd's 4 KiB pages at about
// 7 GiB/s, which would otherwise count as time of a reclaim, or hold up a server's other clients.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "base/unique_fd.hpp"

namespace aqua {

struct PageReaperOptions {
  unsigned threads = 1;  // files that are closed at the same time; fewer where threads run out
  int niceness = 19;     // of these threads; 0: that of who makes them
};

// Threads: any. The destructor closes what is left.
class PageReaper {
 public:
  using Closed = std::function<void()>;

  // Throws std::system_error, or std::bad_alloc, when not one thread can be had.
  explicit PageReaper(const PageReaperOptions& options = {});
  ~PageReaper();
  PageReaper(const PageReaper&) = delete;
  PageReaper& operator=(const PageReaper&) = delete;

  // Closes `file`, its last descriptor here, soon, and calls `closed` then, on whichever thread has
  // closed it. At the step "free" it is about to be closed.
  void close_later(UniqueFd file, Closed closed = {});

  // Returns when everything handed over before is closed; helps.
  void catch_up();

 private:
  struct Leaving {
    UniqueFd file;
    Closed closed;
  };

  void run();
  void close_one() AQUA_REQUIRES(mu_);  // unlocks meanwhile

  const int niceness_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Leaving> files_ AQUA_GUARDED_BY(mu_);
  unsigned closing_ AQUA_GUARDED_BY(mu_) = 0;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace aqua
