// SPDX-License-Identifier: Apache-2.0
// WatchHub has the watches that wait. Whoever has news for one leaves the whole answer there, so
// that hundreds that are woken at once need nothing of what they were waiting for any more, least
// of all its lock.
//
// Threads: the hub: the caller serialises. A Watch: one thread waits, any answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "wire/events.hpp"

namespace aqua::coordinator {

class Watch {
 public:
  using Answer = Result<wire::WatchReply>;

  explicit Watch(std::uint64_t event) : after(event) {}

  // The last event that the client has seen.
  const std::uint64_t after;

  // Once.
  void answer(Answer answer);
  // The answer; nullopt when none came in time.
  [[nodiscard]] std::optional<Answer> wait(std::chrono::milliseconds timeout);
  // The answer, if it is there.
  [[nodiscard]] std::optional<Answer> take();

 private:
  Mutex mu_;
  CondVar answered_;
  std::optional<Answer> answer_ AQUA_GUARDED_BY(mu_);
};

class WatchHub {
 public:
  using Entry = std::shared_ptr<Watch>;

  // In place of the client's former one, which is not there any more.
  Entry add(const ClientId& client, std::uint64_t after);
  // The client's, which then is not there any more; nullptr: it has none.
  [[nodiscard]] Entry remove(const ClientId& client);
  // Removes this one, if it is the client's.
  void forget(const ClientId& client, const Entry& watch);
  [[nodiscard]] std::size_t size() const noexcept { return watches_.size(); }
  [[nodiscard]] const std::map<ClientId, Entry>& all() const noexcept { return watches_; }

 private:
  std::map<ClientId, Entry> watches_;
};

}  // namespace aqua::coordinator
