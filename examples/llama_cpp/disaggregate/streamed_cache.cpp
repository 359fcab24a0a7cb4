// SPDX-License-Identifier: Apache-2.0
#include "disaggregate/streamed_cache.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "daemon_program.hpp"
#include "must.hpp"

namespace aqua::llama_example {
namespace {

using namespace aqua::literals;
using example::must;

constexpr const char* kPrefill = "prefill";
constexpr const char* kDecode = "decode";

bool prefills(const Options& options) {
  return options.disaggregate.part == Part::prefill;
}

std::vector<std::byte> state_of_one_token(Engine& engine) {
  constexpr Token kAny = 1;
  (void)engine.decode(0, 0, {&kAny, 1});
  std::vector<std::byte> state(engine.state_bytes(0));
  engine.save(0, state);
  engine.drop(0);
  return state;
}

PagedShape pages_of(const Model& model, bool prefill) {
  return {.tokens_per_block = prefill ? kTokensPerBlock : 2 * kTokensPerBlock,
          .kv_heads = model.kv_heads()};
}

// One process has all layers and heads.
KvShards shards_of(const Model& model, const StateView& state, bool prefill) {
  const PagedShape pages = pages_of(model, prefill);
  return {.shape = {.layers = static_cast<std::uint32_t>(state.keys.size()),
                    .kv_heads = pages.kv_heads,
                    .head_bytes = state.keys.front().row_bytes / pages.kv_heads,
                    .tokens_per_block = pages.tokens_per_block,
                    .format = model.description()}};
}

std::vector<std::uint32_t> shuffled(std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::shuffle(numbers.begin(), numbers.end(), std::minstd_rand(5));
  return numbers;
}

}  // namespace

StreamedCache::StreamedCache(const Options& options, const Model& model, Engine& engine,
                             unsigned sequences)
    : engine_(engine),
      sample_(state_of_one_token(engine)),
      shape_(StateView::of(sample_)),
      pages_(pages_of(model, prefills(options))),
      blocks_each_(pages_.blocks_of(options.most_tokens())),
      runtime_(must(Runtime::open({.device = "emu:0",
                                   .coordinator = "none",
                                   .host_bytes = 2_MiB,
                                   .curve_directory = "off",
                                   .emulated = {.total_bytes = 64_GiB}}),
                    "runtime")),
      numbers_(shuffled(sequences * blocks_each_)),
      cache_(runtime_, shape_, numbers_.size(), pages_),
      carrier_(
          must(SegmentCarrier::attach(
                   runtime_, cache_.layout(),
                   {.name = "llama.cpp",
                    .role = kv_stream::Streamer::role(prefills(options) ? kPrefill : kDecode, 0),
                    .parcel_bytes = pages_.blocks_of(options.most_tokens()) *
                                    pages_.tokens_per_block * model.kv_bytes_per_token(),
                    .keeper = example::keeper_socket(options.role.directory)}),
               "carrier")),
      streamer_(must(
          kv_stream::Streamer::create(carrier_, cache_.layout(),
                                      {.group = prefills(options) ? kPrefill : kDecode,
                                       .shards = shards_of(model, shape_, prefills(options)),
                                       .others = {{prefills(options) ? kDecode : kPrefill,
                                                   shards_of(model, shape_, !prefills(options))}}}),
          "streamer")) {
  if (!prefills(options)) must(streamer_.admit(kPrefill, sequences), "admit");
}

BlockList StreamedCache::blocks(unsigned place) const {
  return BlockList(numbers_).subspan(place * blocks_each_, blocks_each_);
}

void StreamedCache::put(unsigned slot, BlockList blocks) {
  std::vector<std::byte> state(engine_.state_bytes(slot));
  engine_.save(slot, state);
  cache_.write(blocks, state, StateView::of(state));
}

void StreamedCache::get(unsigned slot, BlockList blocks, std::uint32_t tokens) {
  std::vector<std::byte> state = empty_state(sample_, tokens);
  cache_.read(blocks, state, StateView::of(state));
  engine_.restore(slot, state);
}

void StreamedCache::flip_a_byte(BlockList blocks) {
  std::byte* const first =
      cache_.layout().spec().planes.front() + blocks.front() * cache_.block_bytes();
  must(emulated::launch(runtime_, stream(),
                        [first] { *emulated::kernel_view(first) ^= std::byte{0x40}; }),
       "launch");
}

void StreamedCache::await(const std::function<bool()>& happened) {
  constexpr std::chrono::milliseconds kOneWait{100};
  while (!happened()) (void)streamer_.wait(kOneWait);
}

}  // namespace aqua::llama_example
