// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/slab_room.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "base/concat.hpp"
#include "base/wake_event.hpp"

namespace aqua::keeper {
namespace {

constexpr unsigned kMostThreads = 8;

UniqueFd made_event() {
  auto event = make_wake_event();
  if (!event.ok()) throw std::system_error(errno, std::generic_category(), "eventfd");
  return std::move(event).value();
}

}  // namespace

// Somebody waits for this memory: the threads have the keeper's own priority.
SlabRoom::SlabRoom(std::size_t most)
    : most_(most),
      freed_(made_event()),
      reaper_({.threads = std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads),
               .niceness = 0}) {}

Result<void> SlabRoom::take(std::size_t slabs) {
  const MutexLock lock(mu_);
  if (slabs > most_ - taken_) {
    return Error{Code::resource_exhausted,
                 concat("keeper: ", taken_, " slabs of at most ", most_, ", ", being_freed_,
                        " of them being freed: retire models, remove pools, make larger slabs, or "
                        "raise RLIMIT_NOFILE")};
  }
  taken_ += slabs;
  return {};
}

void SlabRoom::give(std::size_t slabs) {
  const MutexLock lock(mu_);
  taken_ -= slabs;
}

void SlabRoom::close(std::vector<KeptSlab> slabs) {
  for (KeptSlab& slab : slabs) close(std::move(slab), {});
}

std::shared_ptr<const KeptSlab> SlabRoom::share(KeptSlab slab, Closed closed) {
  const auto let_go = [this, closed = std::move(closed)](KeptSlab* held) {
    close(std::move(*held), closed);
    delete held;
  };
  return std::shared_ptr<KeptSlab>(new KeptSlab(std::move(slab)), let_go);
}

void SlabRoom::close(KeptSlab slab, Closed then) {
  const std::uint64_t bytes = slab.bytes;
  {
    const MutexLock lock(mu_);
    ++being_freed_;
    bytes_being_freed_ += bytes;
  }
  reaper_.close_later(std::move(slab.fd), [this, bytes, then = std::move(then)] {
    if (then) then();
    closed(bytes);
  });
}

void SlabRoom::closed(std::uint64_t bytes) {
  {
    const MutexLock lock(mu_);
    --taken_;
    --being_freed_;
    bytes_being_freed_ -= bytes;
  }
  signal_event(freed_.get());
}

std::uint64_t SlabRoom::bytes_being_freed() const {
  const MutexLock lock(mu_);
  return bytes_being_freed_;
}

}  // namespace aqua::keeper
