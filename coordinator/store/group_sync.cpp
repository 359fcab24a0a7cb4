// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/group_sync.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/concat.hpp"
#include "base/errno_error.hpp"

namespace aqua::coordinator {

void GroupSync::wrote(std::uint64_t revision) {
  MutexLock lock(mu_);
  written_ = std::max(written_, revision);
}

Result<void> GroupSync::sync(std::uint64_t revision) {
  MutexLock lock(mu_);
  if (revision > written_)
    return Error{Code::internal, concat("store: sync of revision ", revision, ", not written yet")};
  while (outcome_.ok() && synced_ < revision) {
    if (syncing_) {
      ended_.wait(mu_);
      continue;
    }
    syncing_ = true;
    const std::uint64_t target = written_;
    mu_.unlock();
    Result<void> done;
    if (::fdatasync(file_.get()) != 0) done = errno_error("store: fdatasync");
    mu_.lock();
    syncing_ = false;
    outcome_ = std::move(done);
    if (outcome_.ok()) synced_ = target;
    ended_.notify_all();
  }
  return outcome_;
}

}  // namespace aqua::coordinator
