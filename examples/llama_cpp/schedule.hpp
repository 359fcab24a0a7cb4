// SPDX-License-Identifier: Apache-2.0
// serve(): a small scheduler around the engine. Conversations take turns: each resident one gets
// a token in turn, and one that has produced a slice of them makes room while others wait.
#pragma once

#include <functional>
#include <vector>

#include "conversation.hpp"
#include "parking.hpp"

namespace aqua::llama_example {

struct Progress {
  std::size_t tokens = 0, all_tokens = 0;
  std::size_t preemptions = 0;
  std::size_t waiting = 0;
};

struct Served {
  std::vector<Answer> answers{};  // by request
  double seconds = 0;
  std::size_t tokens = 0;
  std::size_t preemptions = 0;
  double park_seconds = 0;               // in all
  std::vector<double> resume_seconds{};  // of each preemption, until the cache is as it was
};

// Parks what it preempts in `parking`; null: conversations stay until they are done. `each_turn`
// is called after every round of tokens.
[[nodiscard]] Served serve(Engine& engine, const std::vector<ChatRequest>& requests, unsigned slice,
                           Parking* parking, const std::function<void(const Progress&)>& each_turn);

}  // namespace aqua::llama_example
