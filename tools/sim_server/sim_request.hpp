// SPDX-License-Identifier: Apache-2.0
// What a simulated engine is asked for, in the words of OpenAI's API and of vLLM's additions to it.
//
// Threads: plain functions. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/sim_server/vocabulary.hpp"

namespace aqua::tool {

struct SimRequest {
  std::vector<TokenId> prompt{};
  std::uint32_t max_tokens = 16;
  std::uint32_t min_tokens = 0;
  std::uint64_t seed = 0;
  bool ignore_eos = false;
  bool stream = false;
  bool include_usage = false;
  bool tell_ids = false;  // return_token_ids
  bool chat = false;      // messages for a prompt
};

// Parses a body of /v1/completions, /v1/chat/completions and, where nothing but the prompt counts,
// /tokenize. A prompt is a text or a list of ids; messages become one text. invalid_argument says
// what is wrong.
[[nodiscard]] Result<SimRequest> parse_sim_request(std::string_view body);

}  // namespace aqua::tool
