// SPDX-License-Identifier: Apache-2.0
#include "prefix_check.hpp"

#include <string>

#include "cached_prompts.hpp"
#include "conversation.hpp"

namespace aqua::llama_example {
namespace {

// Whole chunks of the engine's, so that the tokens after a hit are computed in the same batches.
constexpr unsigned kBlock = Engine::kChunkTokens;
constexpr unsigned kShared = 2 * kBlock, kOwn = 40, kNewTokens = 16;
static_assert(kShared + kOwn + kNewTokens < kPrefixCheckTokens);

using Prompts = std::vector<std::vector<Token>>;

Prompts make_prompts(const Model& model, unsigned count) {
  Prompts prompts(count, make_prompt(model, kShared, 900));
  for (unsigned i = 0; i < count; ++i) {
    const auto own = make_prompt(model, kOwn, 901 + i);
    prompts[i].insert(prompts[i].end(), own.begin(), own.end());
  }
  return prompts;
}

struct Asked {
  Answer answer{};
  prefix::PrefixMatch hit{};
};

Asked ask(Engine& engine, std::span<const Token> prompt, CachedPrompts* prefixes) {
  Asked asked;
  if (prefixes != nullptr) asked.hit = prefixes->fetch(engine, 0, prompt);
  const auto past = static_cast<unsigned>(asked.hit.tokens);
  Prediction next = engine.decode(0, past, prompt.subspan(past));
  if (prefixes != nullptr) (void)prefixes->store(engine, 0, prompt);
  const auto take = [&] {
    asked.answer.tokens.push_back(next.token);
    asked.answer.logits_hash = (asked.answer.logits_hash ^ next.logits_hash) * 0x9E3779B97F4A7C15;
  };
  take();
  for (unsigned i = 0; i < kNewTokens; ++i) {
    next = engine.decode(0, static_cast<unsigned>(prompt.size()) + i,
                         {&asked.answer.tokens.back(), 1});
    take();
  }
  engine.drop(0);
  return asked;
}

std::vector<AquaTensor> fill_host_memory(Runtime& runtime) {
  std::vector<AquaTensor> fillers;
  for (std::size_t bytes = runtime.status().host.capacity_bytes; bytes >= 4096; bytes /= 2) {
    for (;;) {
      auto filler = runtime.allocate({.bytes = bytes, .name = "filler", .host_only = true});
      if (!filler.ok()) break;
      fillers.push_back(std::move(*filler));
    }
  }
  return fillers;
}

}  // namespace

nlohmann::json check_prefixes(example::Neighbours& neighbours, Engine& engine, const Model& model) {
  const Prompts prompts = make_prompts(model, 5);
  std::vector<Answer> expected;
  for (const auto& prompt : prompts) expected.push_back(ask(engine, prompt, nullptr).answer);

  (void)engine.decode(0, 0, std::span(prompts.front()).first(1));
  std::vector<std::byte> sample(engine.state_bytes(0));
  engine.save(0, sample);
  engine.drop(0);
  CachedPrompts prefixes(neighbours.runtime(), std::move(sample),
                         {.block_tokens = kBlock, .most_tokens = kShared + kOwn});
  nlohmann::json rows = nlohmann::json::array();
  const auto row = [&](const char* when) {
    const std::size_t i = rows.size();
    const Asked asked = ask(engine, prompts[i], &prefixes);
    rows.push_back(
        {{"when", when},
         {"tokens_fetched", asked.hit.tokens},
         {"tier", asked.hit.tokens == 0 ? "none" : std::string(to_string(asked.hit.slowest))},
         {"tokens_equal", asked.answer.tokens == expected[i].tokens},
         {"logits_equal", asked.answer.logits_hash == expected[i].logits_hash}});
  };
  row("nothing is cached");
  row("in lent memory");
  neighbours.ask_back();
  neighbours.await_reclaim();
  row("in host memory");
  neighbours.ask_to_lend();
  neighbours.await_leases();
  prefixes.cache().set_capacity(0);
  prefixes.cache().set_capacity(SIZE_MAX);
  row("evicted");
  {
    const auto fillers = fill_host_memory(neighbours.runtime());
    neighbours.ask_back();
    neighbours.await_reclaim();
    row("lost");
  }
  neighbours.ask_to_lend();
  neighbours.await_leases();
  return {{"shared_tokens", kShared}, {"rows", rows}};
}

}  // namespace aqua::llama_example
