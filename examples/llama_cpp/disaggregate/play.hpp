// SPDX-License-Identifier: Apache-2.0
// The conversations once more, by a prefill and a decode process, either of which may be killed:
// what is not answered then is streamed again, or comes to the next decode process as it came to
// the last one. Tokens and logits must be those of one process.
//
// Threads: one, which lives as long as the processes. Errors: Failure.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "conversation.hpp"
#include "options.hpp"
#include "schedule.hpp"

namespace aqua::llama_example {

struct Disaggregated {
  Served served{};
  unsigned prefill_kills = 0, decode_kills = 0;
  std::size_t said_twice = 0;      // tokens, as their sequence was decoded again
  std::size_t said_otherwise = 0;  // of these, that differed
  std::size_t given_again = 0;     // prompts, to the successor of a prefill process
};

[[nodiscard]] Disaggregated serve_disaggregated(
    const Options& options, const std::filesystem::path& model,
    const std::vector<ChatRequest>& requests,
    const std::function<void(const Progress&)>& each_turn);

// Says what came of it, to people and to options.json. Returns the exit status.
[[nodiscard]] int judge(const Disaggregated& apart, const Served& reference,
                        const Options& options);

}  // namespace aqua::llama_example
