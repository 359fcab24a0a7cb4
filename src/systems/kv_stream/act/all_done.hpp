// SPDX-License-Identifier: Apache-2.0
// Several tickets of which each is asked for on its own, too.
#pragma once

#include <vector>

#include "aqua/ticket.hpp"

namespace aqua::kv_stream {

// As Ticket::done() of Ticket::join(): the first one's error, once none of them can touch memory
// any more.
[[nodiscard]] Result<bool> all_done(const std::vector<Ticket>& tickets);

}  // namespace aqua::kv_stream
