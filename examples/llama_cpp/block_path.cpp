// SPDX-License-Identifier: Apache-2.0
#include "block_path.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>

#include "must.hpp"
#include "prefix/paged_cache.hpp"
#include "state_view.hpp"

namespace aqua::llama_example {

using example::must;

namespace {

using Clock = std::chrono::steady_clock;
constexpr unsigned kNewTokens = 16;

std::vector<Token> go_on(Engine& engine, unsigned slot, unsigned past, Token pending) {
  std::vector<Token> tokens;
  for (unsigned i = 0; i < kNewTokens; ++i) {
    pending = engine.decode(slot, past + i, {&pending, 1}).token;
    tokens.push_back(pending);
  }
  return tokens;
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

nlohmann::json measure_blocks(Runtime& runtime, Engine& engine, const std::vector<Token>& prompt) {
  const auto past = static_cast<unsigned>(prompt.size());
  const Token pending = engine.decode(0, 0, prompt).token;
  std::vector<std::byte> state(engine.state_bytes(0));
  engine.save(0, state);
  const std::vector<Token> expected = go_on(engine, 0, past, pending);
  engine.drop(0);

  const StateView view = StateView::of(state);
  const std::size_t blocks = PagedShape{}.blocks_of(view.tokens);
  PagedCache cache(runtime, view, 2 * blocks);
  std::vector<std::uint32_t> numbers(2 * blocks);
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::shuffle(numbers.begin(), numbers.end(), std::minstd_rand(7));
  const BlockList out = BlockList(numbers).first(blocks);
  const BlockList back = BlockList(numbers).last(blocks);

  cache.fill(std::byte{0});  // of the last block, only a part is tokens
  cache.write(out, state, view);
  AquaTensor tensor =
      must(runtime.allocate({.bytes = cache.layout().packed_bytes(out.size()), .name = "blocks"}),
           "allocate");
  const Tier tier = tensor.tier();
  auto start = Clock::now();
  Ticket ticket = must(runtime.offload(cache.layout(), out, tensor, cache.stream()), "offload");
  must(ticket.wait(), "offload");
  const double offload_ms = ms_since(start);
  cache.fill(std::byte{0xA5});  // nothing that comes back was there before
  start = Clock::now();
  ticket = must(runtime.fetch(tensor, cache.layout(), back, cache.stream()), "fetch");
  must(ticket.wait(), "fetch");
  const double fetch_ms = ms_since(start);

  std::vector<std::byte> returned = state;
  for (const auto* rows : {&view.keys, &view.values}) {
    for (const StatePlane& plane : *rows)
      std::memset(&returned[plane.offset], 0x5A, plane.row_bytes * view.tokens);
  }
  cache.read(back, returned, view);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < state.size(); ++i) wrong += state[i] != returned[i] ? 1U : 0U;
  engine.restore(1, returned);
  const bool same = go_on(engine, 1, past, pending) == expected;
  engine.drop(1);
  return {{"layers", view.keys.size()},
          {"planes_per_layer", 2},
          {"tokens_per_block", kTokensPerBlock},
          {"block_bytes", cache.block_bytes()},
          {"blocks", blocks},
          {"tokens", view.tokens},
          {"tier", std::string(to_string(tier))},
          {"bytes", tensor.bytes()},
          {"offload_ms", offload_ms},
          {"fetch_ms", fetch_ms},
          {"bytes_wrong", wrong},
          {"tokens_afterwards", kNewTokens},
          {"tokens_equal", same}};
}

}  // namespace aqua::llama_example
