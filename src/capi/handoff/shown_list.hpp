// SPDX-License-Identifier: Apache-2.0
// Lists that calls of the C ABI answer, where they lie for C to read.
#pragma once

#include <cstddef>
#include <vector>

#include "base/mutex.hpp"

namespace aqua::capi {

// A list as C reads it: pointers to rows, which point into the items. What was taken
// and could not be shown for want of memory is shown by the next call.
//
// Threads: calls come one after the other.
template <typename Item, typename Row>
class ShownList {
 public:
  using C = decltype(Row::c);

  // Shows what take() answers, in place of what was shown before.
  template <typename Take>
  void show(const Take& take, const C* const** list, std::size_t* count) {
    const MutexLock guard(lock_);
    if (shown_) {
      items_ = take();
      shown_ = false;
    }
    rows_.clear();
    pointers_.clear();
    rows_.reserve(items_.size());
    pointers_.reserve(items_.size());
    for (const Item& item : items_) {
      rows_.emplace_back(item);
      pointers_.push_back(&rows_.back().c);
    }
    shown_ = true;
    *list = pointers_.data();
    *count = pointers_.size();
  }

 private:
  Mutex lock_;
  std::vector<Item> items_ AQUA_GUARDED_BY(lock_);
  std::vector<Row> rows_ AQUA_GUARDED_BY(lock_);
  std::vector<const C*> pointers_ AQUA_GUARDED_BY(lock_);
  bool shown_ AQUA_GUARDED_BY(lock_) = true;
};

}  // namespace aqua::capi
