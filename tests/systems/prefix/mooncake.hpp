// SPDX-License-Identifier: Apache-2.0
// The Mooncake conversation trace, where AQUA_DATA has it. Its blocks are hashed already: equal ids
// mean equal prefixes.
#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "aqua/prefix/prefix_index.hpp"

namespace aqua::prefix::test {

struct TracePrompt {
  std::vector<BlockHash> chain;
  std::size_t tokens = 0;
  double seconds = 0;  // when it comes
  [[nodiscard]] Prefix prefix() const { return {chain, tokens}; }
};

// Empty without AQUA_DATA or the file.
inline std::vector<TracePrompt> mooncake_conversation() {
  std::vector<TracePrompt> prompts;
  const char* folder = std::getenv("AQUA_DATA");
  if (folder == nullptr) return prompts;
  std::ifstream file(std::string(folder) + "/traces/mooncake_conversation_trace.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    TracePrompt prompt{
        {}, row.at("input_length").get<std::size_t>(), row.at("timestamp").get<double>() / 1000};
    for (const auto& id : row.at("hash_ids")) prompt.chain.push_back({0, id.get<std::uint64_t>()});
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

struct Savings {
  std::size_t blocks = 0, hit_blocks = 0;
  std::size_t tokens = 0, hit_tokens = 0;
  double seconds = 0;  // recomputing what was hit, less fetching it
};

// Each prompt looks itself up, then is put in.
inline Savings replay(const std::vector<TracePrompt>& prompts, const PrefixOptions& options) {
  Savings sum;
  PrefixIndex index = *PrefixIndex::create(options);
  for (const TracePrompt& prompt : prompts) {
    const PrefixMatch hit = index.acquire(prompt.prefix());
    sum.blocks += prompt.chain.size();
    sum.hit_blocks += hit.blocks;
    sum.tokens += prompt.tokens;
    sum.hit_tokens += hit.tokens;
    sum.seconds += hit.recompute_seconds - hit.fetch_seconds;
    if (!index.insert(prompt.prefix(), Tier::peer).ok()) std::abort();
    if (!index.release(std::span(prompt.chain).first(hit.blocks)).ok()) std::abort();
  }
  return sum;
}

// Blocks of 512 tokens. Costs of an 8B model: 0.1 ms a token, 3 ns a pair, and 64 MiB a block at
// 200 GB/s.
inline PrefixOptions conversation_options(std::size_t capacity, Eviction eviction) {
  return {.block_tokens = 512,
          .capacity_blocks = capacity,
          .eviction = eviction,
          .costs = {.compute_per_token = 1e-4,
                    .attention_per_token_pair = 3e-9,
                    .fetch_per_block = {0, 3e-4, 1.3e-3}}};
}

}  // namespace aqua::prefix::test
