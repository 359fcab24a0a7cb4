// SPDX-License-Identifier: Apache-2.0
// Piece: some tokens of an answer, as one attempt at it produced them: what may pass to the client
// at once.
//
// Threads: plain data; PieceMaker is not thread-safe. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/migration/move.hpp"
#include "aqua/migration/stream_filter.hpp"
#include "aqua/result.hpp"

namespace aqua::router {

using TokenId = std::uint32_t;
// The right to speak for a request (aqua/migration/move.hpp). An attempt is called by the turn that
// it was begun under, each a higher one than all before it.
using migration::Turn;
inline constexpr Turn kNoTurn = 0;

struct Piece {
  Turn turn = kNoTurn;         // the attempt's
  std::uint64_t position = 0;  // of its first token in the answer, from 0
  std::uint64_t count = 0;     // of tokens
  std::vector<TokenId> ids{};  // of these; fewer than `count` where the engine left some out
  std::string text{};
  std::string finish{};  // "stop", "length": the answer ends with it

  [[nodiscard]] bool ends() const noexcept { return !finish.empty(); }
  [[nodiscard]] bool whole() const noexcept { return ids.size() == count; }
};

// What an engine that tells positions says of where an event's first token is.
struct Place {
  Turn turn = kNoTurn;         // the attempt's
  std::uint64_t position = 0;  // in the answer, from 0
};

// Makes pieces of what an engine says token by token. Engines hold text back in the middle of a
// character: tokens without text wait for the next that has some, so that after each piece the text
// is all of the ids so far. Only there an answer can go on elsewhere: an engine that begins between
// two ids of one character does not find its text.
class PieceMaker {
 public:
  PieceMaker(Turn turn, std::uint64_t from) : heard_(turn, from) {}

  // `count` is of tokens, told with their ids or not. `place`: where the engine says that they are;
  // where it has said none so far, they are taken to follow what was fed before. nullopt: nothing
  // can pass yet. data_loss: they are not the next ones of this attempt, which is over.
  [[nodiscard]] Result<std::optional<Piece>> feed(std::vector<TokenId> ids, std::uint64_t count,
                                                  std::string_view text, std::string_view finish,
                                                  std::optional<Place> place = {});

 private:
  migration::StreamFilter heard_;  // the attempt's own: the position that is to come next
  bool tells_places_ = false;
  Piece begun_{};
};

}  // namespace aqua::router
