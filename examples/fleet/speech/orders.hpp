// SPDX-License-Identifier: Apache-2.0
// Orders of the router about an attempt that is here: bodies of POST /aqua/v1/orders.
//
//   {"order": "move", "request": "cmpl-1", "turn": 3, "to": "engine-b", "move": 4,
//    "answered": 17, "room_tokens": 600}
//
// Threads: plain data and functions. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "speech/asked.hpp"

namespace aqua::fleet {

struct Order {
  enum class What : std::uint8_t {
    move,         // to the source: hand it over to the engine of role `to`
    resume,       // to the source: it speaks on
    abandon,      // to the source: the destination is dead or gave up
    hurry,        // to the source: the move takes too long
    grant,        // to the destination: it speaks, from `position` on
    source_died,  // to the destination: has it all?
    sweep,        // to anybody: end what parcels of the request wait, of moves up to its turn
  };
  What what{};
  AttemptName name{};
  std::string to{};
  // The number of the move, from which the parcel has its turn (CacheOptions::parcel_turn());
  // higher than any before. In a resume: the move that is over, 0 where the router knows of none.
  migration::Turn move = 0;
  std::uint32_t answered = 0;     // tokens of the answer that the destination has been told
  std::uint32_t room_tokens = 0;  // that it keeps room for
  migration::Position position = 0;
};

// invalid_argument names the field.
[[nodiscard]] Result<Order> parse_order(std::string_view body);

}  // namespace aqua::fleet
