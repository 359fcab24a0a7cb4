// SPDX-License-Identifier: Apache-2.0
// send_all() sends the bytes of a parcel or a copy, and tells while it does how far it is: the
// counter has each frame that is sent, and the route's state what is left.
//
// Threads: one at a time for a link; counter and state as their own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "aqua/result.hpp"
#include "tools/courier/carry/route_state.hpp"
#include "tools/courier/net/link.hpp"

namespace aqua::courier {

// Errors: as Link::send(). What is not sent then is not left either.
[[nodiscard]] inline Result<void> send_all(Link& link, std::span<const std::byte> bytes,
                                           RouteState& state, std::atomic<std::uint64_t>& counter) {
  state.begins_to_send(bytes.size());
  auto sent = Result<void>();
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), link.most_in_a_frame()));
    sent = link.send(part);
    if (!sent.ok()) break;
    counter += part.size();
    state.has_sent(part.size());
    bytes = bytes.subspan(part.size());
  }
  state.has_sent(bytes.size());
  return sent;
}

}  // namespace aqua::courier
