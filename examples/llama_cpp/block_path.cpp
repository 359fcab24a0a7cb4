// SPDX-License-Identifier: Apache-2.0
#include "block_path.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>

#include "aqua/emulated.hpp"
#include "must.hpp"
#include "state_view.hpp"

namespace aqua::llama_example {

using example::Failure;
using example::must;

namespace {

using Clock = std::chrono::steady_clock;
constexpr unsigned kNewTokens = 16;

// A paged cache in device memory, with twice the blocks that the sequence takes.
class PagedCache {
 public:
  PagedCache(Runtime& runtime, const StateView& view)
      : runtime_(runtime),
        view_(view),
        blocks_((view.tokens + kTokensPerBlock - 1) / kTokensPerBlock),
        row_bytes_(view.keys.front().row_bytes),
        stream_(must(emulated::create_stream(runtime), "stream")) {
    for (std::size_t l = 0; l < view.keys.size(); ++l) {
      if (view.keys[l].row_bytes != row_bytes_ || view.values[l].row_bytes != row_bytes_)
        throw Failure("layers of different sizes");
    }
    const std::size_t plane = 2 * blocks_ * block_bytes();
    memory_ = must(emulated::allocate(runtime, planes() * plane), "allocate");
    LayoutSpec spec{.layers = static_cast<unsigned>(view.keys.size()),
                    .planes_per_layer = 2,
                    .block_count = static_cast<std::uint32_t>(2 * blocks_),
                    .block_stride = block_bytes(),
                    .segment_bytes = block_bytes()};
    for (std::size_t p = 0; p < planes(); ++p) spec.planes.push_back(memory_.data() + p * plane);
    layout_ = must(Layout::make(std::move(spec)), "layout");
  }
  ~PagedCache() { (void)emulated::destroy_stream(runtime_, stream_); }
  PagedCache(const PagedCache&) = delete;
  PagedCache& operator=(const PagedCache&) = delete;

  [[nodiscard]] std::size_t planes() const { return 2 * view_.keys.size(); }
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t block_bytes() const { return kTokensPerBlock * row_bytes_; }
  [[nodiscard]] const Layout& layout() const { return *layout_; }
  [[nodiscard]] Stream stream() const { return stream_; }

  // Copies each row of the state into its block, or each row of its block into the state.
  void rows(BlockList list, std::span<std::byte> state, bool into_cache) {
    each_row(list, [&](std::byte* in_cache, std::size_t in_state) {
      if (into_cache)
        std::memcpy(in_cache, &state[in_state], row_bytes_);
      else
        std::memcpy(&state[in_state], in_cache, row_bytes_);
    });
  }
  void fill(std::byte value) {
    kernel([&] {
      std::memset(emulated::kernel_view(memory_.data()), static_cast<int>(value), memory_.bytes());
    });
  }

 private:
  template <typename F>
  void each_row(BlockList list, F&& visit) {
    kernel([&] {
      const LayoutSpec& spec = layout_->spec();
      for (std::size_t p = 0; p < planes(); ++p) {
        const StatePlane& rows = p % 2 == 0 ? view_.keys[p / 2] : view_.values[p / 2];
        std::byte* plane = emulated::kernel_view(spec.planes[p]);
        for (std::size_t t = 0; t < view_.tokens; ++t) {
          visit(
              plane + list[t / kTokensPerBlock] * block_bytes() + t % kTokensPerBlock * row_bytes_,
              rows.offset + t * row_bytes_);
        }
      }
    });
  }
  void kernel(const std::function<void()>& work) {
    must(emulated::launch(runtime_, stream_, work), "launch");
    must(emulated::synchronize(runtime_, stream_), "synchronize");
  }

  Runtime& runtime_;
  const StateView& view_;
  const std::size_t blocks_;
  const std::size_t row_bytes_;
  Stream stream_;
  emulated::Memory memory_;
  std::optional<Layout> layout_;
};

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
  PagedCache cache(runtime, view);
  std::vector<std::uint32_t> numbers(2 * cache.blocks());
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::shuffle(numbers.begin(), numbers.end(), std::minstd_rand(7));
  const BlockList out = BlockList(numbers).first(cache.blocks());
  const BlockList back = BlockList(numbers).last(cache.blocks());

  cache.fill(std::byte{0});  // of the last block, only a part is tokens
  cache.rows(out, state, true);
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
  cache.rows(back, returned, false);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < state.size(); ++i) wrong += state[i] != returned[i] ? 1U : 0U;
  engine.restore(1, returned);
  const bool same = go_on(engine, 1, past, pending) == expected;
  engine.drop(1);
  return {{"layers", view.keys.size()},
          {"planes_per_layer", 2},
          {"tokens_per_block", kTokensPerBlock},
          {"block_bytes", cache.block_bytes()},
          {"blocks", cache.blocks()},
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
