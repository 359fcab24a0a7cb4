// SPDX-License-Identifier: Apache-2.0
// What prefill, decode and the process that started them say to each other: lines of JSON, and the
// words that go with a prompt's KV.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine.hpp"

namespace aqua::llama_example {

// To prefill: compute this, and stream its KV to decode.
struct Prompt {
  std::uint64_t sequence = 0;
  std::uint32_t attempt = 1;
  std::vector<Token> tokens{};
  std::uint32_t output_tokens = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Prompt, sequence, attempt, tokens, output_tokens)

// From prefill: decode gets it, whatever becomes of prefill.
struct Kept {
  std::uint64_t kept = 0;  // sequence
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Kept, kept)

// With the KV: what decode has to know.
struct Pending {
  Token token = 0;  // the answer's first, of which no KV is there
  std::uint64_t logits_hash = 0;
  std::uint32_t output_tokens = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Pending, token, logits_hash, output_tokens)

// To decode, before all else: these have their answers.
struct Answered {
  std::vector<std::uint64_t> answered{};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Answered, answered)

// From decode: a token of an answer.
struct Said {
  std::uint64_t sequence = 0;
  std::uint32_t index = 0;
  Token token = 0;
  std::uint64_t logits_hash = 0;  // of all logits so far (Answer)
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Said, sequence, index, token, logits_hash)

}  // namespace aqua::llama_example
