// SPDX-License-Identifier: Apache-2.0
// Step is what travels through a pipeline: some tokens of one sequence at consecutive positions, as
// activations. The orchestrator writes it as a line of JSON, with token numbers, to each rank of
// the first stage, and reads a line of JSON with the next token from the last one.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "model/toy_model.hpp"
#include "serve/link.hpp"

namespace aqua::pipeline {

// In place of a sequence's number, which is less.
inline constexpr Word kNoMoreSteps = UINT64_MAX;

struct StepHead {
  Word sequence = 0;
  Word seed = 0;
  std::uint32_t first = 0;  // position of the first token
  std::uint32_t count = 0;  // 0: the sequence has ended, its blocks are free
  // How often its prompt has been given to prefill, where that is a pipeline of its own; 0: it is
  // not streamed.
  std::uint32_t attempt = 1;
  std::uint32_t before = 0;  // ids of tokens before the first that travel with it: none, or all
  // The position behind the last one, after which the next token is sampled.
  [[nodiscard]] std::uint32_t end() const { return first + count; }
};

struct Step {
  StepHead head{};
  std::vector<Hidden> hidden{};
  std::vector<std::uint32_t> ids{};  // of the tokens, and of head.before before them
};

// The orchestrator's order to the first stage.
struct Order {
  Word term = 0;  // of the pipeline's group, in which it is given
  Word sequence = 0;
  Word seed = 0;
  std::uint32_t first = 0;
  std::uint32_t attempt = 1;            // of its prompt, as StepHead has it
  std::vector<std::uint32_t> tokens{};  // none: the sequence has ended
  // All before the first, where the pipeline may not know them: its KV was streamed here.
  std::vector<std::uint32_t> before{};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, term, sequence, seed, first, attempt, tokens, before)

// The last stage's answer to an order, unless the sequence has ended.
struct Sampled {
  Word sequence = 0;
  std::uint32_t position = 0;  // of the token
  std::uint32_t token = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Sampled, sequence, position, token)

[[nodiscard]] Step step_of(const Order& order);
void send_step(Link& link, const Step& step);
void send_end(Link& link);  // no more steps
// None: there are no more. A stage that ends without having said so has died.
[[nodiscard]] std::optional<Step> receive_step(Link& link);

}  // namespace aqua::pipeline
