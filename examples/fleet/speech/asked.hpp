// SPDX-License-Identifier: Apache-2.0
// What an engine of the fleet is asked: OpenAI's completions with token ids, as vLLM has them, and
// `aqua`, by which the router names the attempt that the request is.
//
//   {"prompt": [5, 17], "max_tokens": 20, "seed": 1, "stream": true, "return_token_ids": true,
//    "aqua": {"request": "cmpl-1", "turn": 3, "answered": 0, "receive": false}}
//
// Threads: plain data and functions. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/migration/move.hpp"
#include "aqua/result.hpp"

namespace aqua::fleet {

using Token = std::uint32_t;

// Names an attempt at a request: by the router's name for the request, and the turn that the
// attempt was begun under.
struct AttemptName {
  std::string request{};
  migration::Turn turn = 0;
  auto operator<=>(const AttemptName&) const = default;
};

struct Asked {
  std::vector<Token> prompt{};  // of `answered` tokens at its end it is the answer so far
  std::uint32_t max_tokens = 16;
  std::uint64_t seed = 0;
  bool stream = false;
  AttemptName name{};          // without a name nobody can order it to move
  std::uint32_t answered = 0;  // fewer than the prompt's tokens
  bool receive = false;        // its KV comes from another engine, and it waits for its turn
};

// invalid_argument names the field.
[[nodiscard]] Result<Asked> parse_asked(std::string_view body);
// A byte is a token: this model has no language.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view text);
// The text of /tokenize.
[[nodiscard]] Result<std::string> parse_tokenize(std::string_view body);

}  // namespace aqua::fleet
