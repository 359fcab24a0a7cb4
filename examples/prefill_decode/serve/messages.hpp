// SPDX-License-Identifier: Apache-2.0
// What the processes of the example say to each other, as JSON: requests and answers by lines, and
// the note that a parcel carries from prefill to decode.
//
// Units: seconds of this server's steady clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "serve/kv_engine.hpp"

namespace aqua::prefill_decode {

struct Request {
  std::uint64_t id = 0;
  std::vector<Token> prompt{};
  std::uint32_t answer_tokens = 0;  // at least 1
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Request, id, prompt, answer_tokens)

// The first token of an answer, as soon as it is there.
struct FirstToken {
  std::uint64_t first_of = 0;
  double at = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FirstToken, first_of, at)

struct Answer {
  std::uint64_t answer_to = 0;
  std::vector<Token> tokens{};
  std::vector<double> at{};        // of each but the first, when it was there
  std::uint64_t logits_hash = 0;   // of all logits that the tokens were taken from, in order
  std::uint64_t copied_bytes = 0;  // of KV, on its way from prefill to decode
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Answer, answer_to, tokens, at, logits_hash, copied_bytes)

// What decode has to know beside the blocks.
struct Pending {
  Token token = 0;  // the first of the answer, of which no KV is there yet
  std::uint32_t answer_tokens = 0;
  std::uint64_t logits_hash = 0;
  std::uint64_t copied_bytes = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Pending, token, answer_tokens, logits_hash, copied_bytes)

// Now, by that clock.
[[nodiscard]] inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace aqua::prefill_decode
