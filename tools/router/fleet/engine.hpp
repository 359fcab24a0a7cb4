// SPDX-License-Identifier: Apache-2.0
// An engine as the router sees it: where it is, how it is spoken to, and what it says of itself.
//
// Threads: plain data and functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/http/http_client.hpp"
#include "tools/router/decide/piece.hpp"
#include "tools/router/speech/asked.hpp"
#include "tools/router/speech/dialect.hpp"
#include "tools/router/speech/kv_moves.hpp"

namespace aqua::router {

// Where an engine is and how it is spoken to: the same for as long as it is up, but for `kv.away`.
// Whoever keeps a copy has that as it was when the copy was made.
struct EngineEndpoint {
  std::string name{};
  http::EngineUrl url{};
  std::string api_key{};
  Dialect dialect = Dialect::vllm;
  std::string model{};
  std::uint64_t max_tokens = 0;  // of a sequence; 0: not told
  EnginePool kv{};
};

// Whether there is a way for KV: they are two members of one pool, or couriers carry from one to
// the other. Keepers may be away.
[[nodiscard]] inline bool has_way(const EngineEndpoint& from, const EngineEndpoint& to) {
  if (from.kv.pool.empty() || to.kv.pool.empty() || from.kv.role == to.kv.role) return false;
  return from.kv.pool == to.kv.pool ||
         std::ranges::find(from.kv.reaches, to.kv.role) != from.kv.reaches.end();
}
// Whether KV can be handed over from one to the other now.
[[nodiscard]] inline bool hands_over(const EngineEndpoint& from, const EngineEndpoint& to) {
  return has_way(from, to) && !from.kv.away && !to.kv.away;
}

// What it says of itself.
struct EngineFacts {
  Dialect dialect = Dialect::vllm;
  std::string model{};
  std::uint64_t max_tokens = 0;
  std::uint64_t kv_tokens = 0;  // of its whole KV cache, 1 to 2^40; 0: not told
  // The ids of a text that tokenizers differ about: engines that cut it differently do not speak of
  // the same tokens, whatever their model is called.
  std::vector<TokenId> fingerprint{};
  EnginePool kv{};  // of no pool where it does not know the path
};

// Asks it all of that. A path that it answers with 501 or 4xx, but 429, it does not know.
// unavailable, deadline_exceeded, data_loss as HttpClient and the parsers have it; data_loss too
// for a capacity that cannot be.
[[nodiscard]] Result<EngineFacts> ask_facts(const EngineEndpoint& endpoint,
                                            const std::stop_token& stop);
// Whether it answers at all: GET /health. As ask_facts().
[[nodiscard]] Result<void> ask_health(const EngineEndpoint& endpoint, const std::stop_token& stop);
// What it says of its pool now. As ask_facts(); unavailable where it says nothing of one.
[[nodiscard]] Result<EnginePool> ask_pool(const EngineEndpoint& endpoint,
                                          const std::stop_token& stop);
// The ids of the prompt, by the engine's own tokenizer and template. As ask_facts();
// invalid_argument: the engine does not take it, and says why. cancelled: by `stop`.
[[nodiscard]] Result<std::vector<TokenId>> ask_ids(const EngineEndpoint& endpoint, Asked asked,
                                                   const std::stop_token& stop);

// "NAME=URL". invalid_argument says what was expected: a name of letters, digits, '-', '_' and '.',
// at most 64.
[[nodiscard]] Result<EngineEndpoint> parse_engine(std::string_view text);

// KV tokens by /metrics of vLLM, or by /props of llama-server. 0: not told. data_loss: cannot be.
[[nodiscard]] Result<std::uint64_t> vllm_capacity(std::string_view metrics);
[[nodiscard]] Result<std::uint64_t> llama_capacity(std::string_view props);

}  // namespace aqua::router
