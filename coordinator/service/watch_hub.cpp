// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/watch_hub.hpp"

#include <utility>

namespace aqua::coordinator {

void Watch::answer(Answer answer) {
  MutexLock lock(mu_);
  answer_ = std::move(answer);
  answered_.notify_one();
}

std::optional<Watch::Answer> Watch::wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(mu_);
  while (!answer_ && answered_.wait_until(mu_, deadline)) continue;
  return std::exchange(answer_, std::nullopt);
}

std::optional<Watch::Answer> Watch::take() {
  MutexLock lock(mu_);
  return std::exchange(answer_, std::nullopt);
}

WatchHub::Entry WatchHub::add(const ClientId& client, std::uint64_t after) {
  return watches_[client] = std::make_shared<Watch>(after);
}

WatchHub::Entry WatchHub::remove(const ClientId& client) {
  const auto found = watches_.find(client);
  if (found == watches_.end()) return nullptr;
  Entry watch = std::move(found->second);
  watches_.erase(found);
  return watch;
}

void WatchHub::forget(const ClientId& client, const Entry& watch) {
  const auto found = watches_.find(client);
  if (found != watches_.end() && found->second == watch) watches_.erase(found);
}

}  // namespace aqua::coordinator
