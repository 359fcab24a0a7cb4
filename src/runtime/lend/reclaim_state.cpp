// SPDX-License-Identifier: Apache-2.0
#include "runtime/lend/reclaim_state.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace aqua {

void ReclaimState::credit(std::size_t bytes, TimePoint now) {
  const MutexLock lock(mu_);
  const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(now - started_);
  if (progress_.slabs_returned == 0) progress_.first_slab = elapsed;
  progress_.last_slab = elapsed;
  progress_.bytes_returned += bytes;
  ++progress_.slabs_returned;
  settle();
}

void ReclaimState::limit_wanted(std::size_t bytes) {
  const MutexLock lock(mu_);
  progress_.bytes_wanted = std::min(progress_.bytes_wanted, bytes);
  settle();
}

void ReclaimState::finish(std::vector<Holder> holders) {
  const MutexLock lock(mu_);
  progress_.holders = std::move(holders);
  progress_.done = true;
  changed_.notify_all();
}

void ReclaimState::close() {
  const MutexLock lock(mu_);
  closed_ = true;
  changed_.notify_all();
}

// Done is for good, even where a limit or a late slab changes the sums afterwards.
void ReclaimState::settle() {
  if (progress_.bytes_returned < progress_.bytes_wanted) return;
  progress_.done = true;
  progress_.holders.clear();
  changed_.notify_all();
}

ReclaimProgress ReclaimState::progress() const {
  const MutexLock lock(mu_);
  return progress_;
}

std::size_t ReclaimState::missing_bytes() const {
  const MutexLock lock(mu_);
  return progress_.bytes_wanted - std::min(progress_.bytes_wanted, progress_.bytes_returned);
}

Result<ReclaimProgress> ReclaimState::wait() const {
  const MutexLock lock(mu_);
  while (!progress_.done && !closed_) changed_.wait(mu_);
  if (!progress_.done)
    return Error{Code::failed_precondition, "reclaim: its runtime was closed before it was done"};
  if (progress_.bytes_returned >= progress_.bytes_wanted) return progress_;
  std::string holders;
  for (const Holder& holder : progress_.holders) {
    holders += concat(holders.empty() ? "" : ", ", "slab ", holder.slab, " by ", holder.name,
                      " (pid ", holder.pid, ")");
  }
  return Error{Code::deadline_exceeded,
               concat("reclaim: ", progress_.bytes_returned, " of ", progress_.bytes_wanted,
                      " bytes are back; still held: ", holders)};
}

ReclaimProgress Reclaim::progress() const {
  return state_ != nullptr ? state_->progress() : ReclaimProgress{};
}

Result<ReclaimProgress> Reclaim::wait() const {
  if (state_ == nullptr)
    return Error{Code::failed_precondition, "reclaim: this handle watches nothing"};
  return state_->wait();
}

}  // namespace aqua
