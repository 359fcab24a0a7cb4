// SPDX-License-Identifier: Apache-2.0
// What people ask of the model, and what came of it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine.hpp"
#include "options.hpp"

namespace aqua::llama_example {

struct ChatRequest {
  unsigned id = 0;
  std::vector<Token> prompt{};
  unsigned output_tokens = 0;
};

struct Answer {
  std::vector<Token> tokens{};
  std::uint64_t logits_hash = 0;   // of all logits that the tokens were taken from, in order
  double first_token_seconds = 0;  // from the beginning of the run
};

// Prompts of words drawn by a seed; the same for the same options and model.
[[nodiscard]] std::vector<ChatRequest> make_requests(const Model& model, const Options& options);
// `tokens` of them, for one long prompt.
[[nodiscard]] std::vector<Token> make_prompt(const Model& model, unsigned tokens, unsigned seed);

}  // namespace aqua::llama_example
