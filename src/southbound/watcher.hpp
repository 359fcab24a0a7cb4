// SPDX-License-Identifier: Apache-2.0
// Watcher is the thread of the listener: it announces sessions, polls for events, and makes
// every callback.
//
// Threads: one of its own, from construction to destruction.
#pragma once

#include <cstdint>
#include <optional>
#include <thread>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "southbound/client.hpp"
#include "southbound/link.hpp"
#include "wire/events.hpp"

namespace aqua::southbound {

class Watcher {
 public:
  Watcher(Link& link, Listener& listener);  // both must outlive it
  ~Watcher();                               // after link.close()

 private:
  void run();
  void follow(const Active& active);
  [[nodiscard]] Result<wire::WatchReply> poll_once(const Active& active,
                                                   std::optional<std::uint64_t> after);
  // What to watch after next.
  [[nodiscard]] std::uint64_t deliver(wire::WatchReply reply, std::optional<std::uint64_t> after);

  Link& link_;
  Listener& listener_;
  Epoch last_epoch_;  // nil before the first session
  std::thread thread_;
};

}  // namespace aqua::southbound
