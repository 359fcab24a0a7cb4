// SPDX-License-Identifier: Apache-2.0
// Work that is posted for a caller who may want a ticket of it.
#pragma once

#include <cstdint>
#include <utility>

#include "aqua/c/types.h"
#include "base/try.hpp"
#include "capi/objects.hpp"

namespace aqua::capi {

// As transfer::Direction, which is out of this room's reach.
enum class Direction : std::uint8_t { offload, fetch };

// Runs post(), which returns a Result<Ticket>, and hands the ticket out where `ticket` is not null.
// The handle comes first: once work is queued nothing may fail any more. `what` names the call.
template <typename Post>
[[nodiscard]] Result<void> post_with_ticket(const char* what, std::uint64_t runtime,
                                            aqua_ticket* ticket, const Post& post) {
  if (ticket == nullptr) {
    AQUA_TRY(post());
    return {};
  }
  AQUA_ASSIGN(const std::uint64_t id, tickets().insert(runtime, TicketObject{runtime, Ticket()}));
  const auto end = [&] { (void)tickets().end(what, id); };
  try {
    AQUA_ASSIGN(const auto made, tickets().use(what, id));
    Result<Ticket> posted = post();
    if (!posted.ok()) {
      end();
      return std::move(posted).error();
    }
    made->ticket = std::move(posted).value();
    ticket->id = id;
    return {};
  } catch (...) {
    end();
    throw;
  }
}

}  // namespace aqua::capi
