// SPDX-License-Identifier: Apache-2.0
// BatchPool keeps the lists of batches that have run. A list of many pieces is megabytes that the
// kernel would otherwise hand out page by page for every transfer, which takes longer than
// planning it.
//
// Threads: every method may be called concurrently. A batch may outlive everything but the pool,
//          which it keeps.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "device/device.hpp"

namespace aqua::transfer {

class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  using List = std::vector<device::CopySegment>;

  // An old list, entries and all, for the caller to overwrite; else an empty one.
  [[nodiscard]] List take() {
    const MutexLock lock(mu_);
    if (idle_.empty()) return {};
    List list = std::move(idle_.back());
    idle_.pop_back();
    idle_entries_ -= list.capacity();
    return list;
  }
  // The list comes back when the last holder of the batch lets go of it.
  [[nodiscard]] device::CopyBatch share(List list) {
    return {new List(std::move(list)), [pool = shared_from_this()](List* old) {
              pool->give_back(std::move(*old));
              delete old;
            }};
  }

 private:
  static constexpr std::size_t kMostEntries = std::size_t{1} << 18;  // 6 MiB

  void give_back(List list) {
    const MutexLock lock(mu_);
    if (idle_entries_ + list.capacity() > kMostEntries) return;
    idle_entries_ += list.capacity();
    idle_.push_back(std::move(list));
  }

  Mutex mu_;
  std::vector<List> idle_ AQUA_GUARDED_BY(mu_);
  std::size_t idle_entries_ AQUA_GUARDED_BY(mu_) = 0;
};

}  // namespace aqua::transfer
