// SPDX-License-Identifier: Apache-2.0
// What an engine of the fleet is asked: OpenAI's completions with token ids, as vLLM has them, and
// `aqua`, by which the router names the attempt that the request is.
//
//   {"prompt": [5, 17], "max_tokens": 20, "seed": 1, "stream": true, "return_token_ids": true,
//    "aqua": {"request": "cmpl-1", "turn": 3, "answered": 0, "receive": false, "from": ""}}
//
// Threads: plain data and functions. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/migration/move.hpp"
#include "aqua/migration/note.hpp"
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

struct ChatMessage {
  std::string role{}, content{};
  bool operator==(const ChatMessage&) const = default;
};
// What is to become tokens: a prompt or, where it is not empty, a chat that the engine is to go on
// with.
struct Text {
  std::string prompt{};
  std::vector<ChatMessage> chat{};
};

struct Asked {
  std::vector<Token> prompt{};    // of `answered` tokens at its end it is the answer so far
  std::string text{};             // the prompt, where it came as text; `prompt` is empty then
  std::uint32_t max_tokens = 16;  // 0: as many as there is room for
  std::uint32_t min_tokens = 0;   // before these it does not end by itself
  migration::Sampler sampler{};   // seed and temperature
  bool stream = false;
  AttemptName name{};          // without a name nobody can order it to move
  std::uint32_t answered = 0;  // fewer than the prompt's tokens; 0 of a text
  bool receive = false;        // its KV comes from another engine, and it waits for its turn
  std::string from{};          // the role of that engine; "": not told
};

// invalid_argument names the field.
[[nodiscard]] Result<Asked> parse_asked(std::string_view body);
// Parses the body of /tokenize: {"prompt": "a text"}, or {"messages": [{"role": "user", "content":
// "a text"}]}.
[[nodiscard]] Result<Text> parse_tokenize(std::string_view body);

}  // namespace aqua::fleet
