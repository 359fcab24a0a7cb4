// SPDX-License-Identifier: Apache-2.0
// What an engine says of one token.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "tools/router/decide/piece.hpp"

namespace aqua::router {

inline Piece piece(migration::Turn turn, std::uint64_t position, std::string finish = "") {
  return {.turn = turn, .position = position, .count = 1, .ids = {7}, .finish = std::move(finish)};
}

}  // namespace aqua::router
