// SPDX-License-Identifier: Apache-2.0
// Gives the pages of closed slabs back to the system, off the way of whoever closed them.
//
// A GPU driver releases a slab in microseconds; the kernel frees a memfd's 4 KiB pages at
// about 7 GiB/s, which would otherwise count as time of a reclaim.
#pragma once

#include <deque>
#include <thread>

#include "base/mutex.hpp"
#include "base/unique_fd.hpp"

namespace aqua::device {

// Threads: any. The destructor closes what is left.
class PageReaper {
 public:
  PageReaper();  // throws std::system_error when no thread can be had
  ~PageReaper();

  // Closes `file`, its last descriptor here, soon and at the lowest priority.
  void close_later(UniqueFd file);

  // Returns when everything handed over before is closed; helps.
  void catch_up();

 private:
  void run();
  void close_one() AQUA_REQUIRES(mu_);  // unlocks meanwhile

  Mutex mu_;
  CondVar changed_;
  std::deque<UniqueFd> files_ AQUA_GUARDED_BY(mu_);
  unsigned closing_ AQUA_GUARDED_BY(mu_) = 0;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aqua::device
