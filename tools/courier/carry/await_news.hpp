// SPDX-License-Identifier: Apache-2.0
// await_news() is how a courier waits over a connection: for its own keeper and the other side at
// once.
//
// Threads: one at a time for a link. `stop`, an event, ends it.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "aqua/result.hpp"
#include "tools/courier/net/link.hpp"

namespace aqua::courier {

struct News {
  bool keeper = false;                 // one of its descriptors is readable
  std::optional<Link::Frame> frame{};  // that the other side has said
  bool late = false;                   // neither has come in time
};

// Waits for either, until then at most; it may come back with nothing before that.
//   cancelled  it was stopped
//   as Link::receive()
[[nodiscard]] Result<News> await_news(
    Link& link, const std::vector<int>& keeper, int stop,
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());

}  // namespace aqua::courier
