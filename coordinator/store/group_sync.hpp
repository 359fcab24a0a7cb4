// SPDX-License-Identifier: Apache-2.0
// GroupSync writes one file through to the disk for many callers at once: whoever comes while
// an fdatasync() runs waits for the next one, which then serves all of them.
//
// Threads: every method may be called concurrently.
#pragma once

#include <cstdint>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "base/unique_fd.hpp"

namespace aqua::coordinator {

class GroupSync {
 public:
  explicit GroupSync(UniqueFd file) : file_(std::move(file)) {}

  // Everything up to `revision` has been written to the file, in order.
  void wrote(std::uint64_t revision);
  // Returns when what was written up to `revision` is on the disk. An error is for good: after
  // a failed fdatasync() the kernel has forgotten which pages were not written.
  [[nodiscard]] Result<void> sync(std::uint64_t revision);

 private:
  const UniqueFd file_;
  Mutex mu_;
  CondVar ended_;
  std::uint64_t written_ AQUA_GUARDED_BY(mu_) = 0;
  std::uint64_t synced_ AQUA_GUARDED_BY(mu_) = 0;
  bool syncing_ AQUA_GUARDED_BY(mu_) = false;
  Result<void> outcome_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::coordinator
