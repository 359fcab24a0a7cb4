// SPDX-License-Identifier: Apache-2.0
// What a client asks for: a request to OpenAI's completions or chat, as far as the router must
// understand it to have it answered by one engine after another.
//
// Threads: plain data and functions. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/router/decide/piece.hpp"

namespace aqua::router {

enum class Api : std::uint8_t { completions, chat };

struct Asked {
  Api api = Api::completions;
  std::string model{};  // "": whatever is served
  bool stream = false;
  bool include_usage = false;
  bool tell_ids = false;  // return_token_ids, as vLLM has it
  // The prompt: ids, or a text, or chat's messages (JSON), the others empty.
  std::vector<TokenId> ids{};
  std::string text{};
  std::string messages{};
  std::uint64_t max_tokens = 0;  // 0: as many as the engine wants
  std::uint64_t min_tokens = 0;
  std::vector<std::string> stop{};
  // A JSON object of what engines are told as it came: temperature, seed and the like.
  std::string carried = "{}";
  // Why no other engine can go on with its answer: such a request is passed on as it came and stays
  // where it is. "": it can move.
  std::string stays{};
};

// invalid_argument names the field that is wrong.
[[nodiscard]] Result<Asked> parse_asked(Api api, std::string_view body);

}  // namespace aqua::router
