// SPDX-License-Identifier: Apache-2.0
#include "base/fork_guard.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace aqua {
namespace {

// Lists the guarded descriptors of this process. Every open one is in `fds`; the fork handlers hold
// `mu` over the fork, so that no child sees a half-written list. Never destroyed, because a process
// may fork while it exits.
struct Registry {
  Mutex mu;
  std::vector<int> fds AQUA_GUARDED_BY(mu);
  std::atomic<std::uint64_t> generation{0};
};

Registry& registry();

// fork() runs these on the forking thread, so that the child finds the registry unlocked
// and whole.
void before_fork() AQUA_NO_THREAD_SAFETY_ANALYSIS {
  registry().mu.lock();
}
void after_fork_in_parent() AQUA_NO_THREAD_SAFETY_ANALYSIS {
  registry().mu.unlock();
}
void after_fork_in_child() AQUA_NO_THREAD_SAFETY_ANALYSIS {
  Registry& all = registry();
  for (const int fd : all.fds) ::close(fd);
  all.fds.clear();
  all.generation.fetch_add(1, std::memory_order_relaxed);
  all.mu.unlock();
}

Registry& registry() {
  static Registry* const only = [] {
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return new Registry;
  }();
  return *only;
}

}  // namespace

std::uint64_t fork_generation() {
  return registry().generation.load(std::memory_order_relaxed);
}

ForkGuardedFd::ForkGuardedFd(UniqueFd fd) : generation_(fork_generation()) {
  Registry& all = registry();
  MutexLock lock(all.mu);
  fd_ = fd.release();
  if (fd_ >= 0) all.fds.push_back(fd_);
}

ForkGuardedFd::ForkGuardedFd(ForkGuardedFd&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), generation_(other.generation_) {}

ForkGuardedFd& ForkGuardedFd::operator=(ForkGuardedFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
    generation_ = other.generation_;
  }
  return *this;
}

void ForkGuardedFd::reset() noexcept {
  const int fd = std::exchange(fd_, -1);
  if (fd < 0 || generation_ != fork_generation()) return;
  Registry& all = registry();
  MutexLock lock(all.mu);
  // Closes under the lock. A fork between erase and close would leave the child with it open; one
  // between close and erase would make the child close a number that is reused by then.
  std::erase(all.fds, fd);
  ::close(fd);
}

}  // namespace aqua
