// SPDX-License-Identifier: Apache-2.0
#include "serve/cache.hpp"

#include <chrono>
#include <cstring>

#include "aqua/emulated.hpp"
#include "must.hpp"

namespace aqua::fleet {
namespace {

using example::must;
using pipeline::Hidden;
using pipeline::KvPlanes;

constexpr unsigned kPlanesPerLayer = 2;  // keys, values
constexpr std::chrono::seconds kPatience{60};

KvPoolOptions pool_options(const CacheOptions& options) {
  const pipeline::ModelShape& model = options.model;
  KvPoolOptions pool{.name = options.pool, .role = options.role};
  pool.shape = {.layers = model.layers,
                .planes_per_layer = kPlanesPerLayer,
                .plane_block_bytes =
                    std::size_t{options.tokens_per_block} * model.kv_heads * model.head_bytes,
                .tokens_per_block = options.tokens_per_block,
                .blocks = options.pool_blocks,
                .format = "integers, " + std::to_string(model.kv_heads) + " heads of " +
                          std::to_string(model.head_bytes) + " bytes"};
  pool.slab_bytes = std::size_t{2} << 20;
  pool.keeper = options.keeper;
  return pool;
}

}  // namespace

Cache::Cache(Runtime& runtime, const CacheOptions& options)
    : runtime_(runtime),
      options_(options),
      stream_(must(emulated::create_stream(runtime), "stream")) {
  const KvPoolOptions wanted = pool_options(options);
  if (options.keeper.empty()) {
    block_stride_ = plane_block_bytes_ = wanted.shape.plane_block_bytes;
    own_.emplace(runtime, std::size_t{kPlanesPerLayer} * options.model.layers, plane_block_bytes_,
                 options.own_blocks);
    planes_ = own_->planes();
    return;
  }
  pool_.emplace(must(KvPool::attach(runtime, wanted), "pool"));
  const Layout& layout = pool_->layout();
  planes_ = layout.spec().planes;
  plane_block_bytes_ = layout.plane_block_bytes();
  block_stride_ = layout.spec().block_stride;
}

Cache::~Cache() {
  (void)emulated::destroy_stream(runtime_, stream_);
}

Blocks Cache::take(std::size_t count) {
  if (own_) {
    auto taken = own_->take(count);
    if (!taken) throw example::Failure("blocks: more than this engine has");
    return *std::move(taken);
  }
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    auto blocks = pool_->allocate(count);
    if (blocks.ok()) return std::move(blocks).value();
    // More are asked for in the background, and come within a round trip to the keeper. The watch
    // may take the news of it.
    if (!pool_->is_connected() || std::chrono::steady_clock::now() > until)
      throw example::failure("blocks", blocks.error());
    (void)pool_->wait(std::chrono::milliseconds(5));
  }
}

void Cache::release(const Blocks& blocks) {
  if (blocks.empty()) return;
  if (own_) return own_->release(blocks);
  must(pool_->release(blocks, stream_), "release");
}

std::uint32_t Cache::copy_of(std::uint32_t block) {
  const std::uint32_t copy = take(1).front();
  auto kernel = [this, block, copy] {
    for (std::byte* const plane : planes_) {
      std::byte* const base = emulated::kernel_view(plane);
      std::memcpy(base + copy * block_stride_, base + block * block_stride_, plane_block_bytes_);
    }
  };
  must(emulated::launch(runtime_, stream_, std::move(kernel)), "copy");
  must(emulated::synchronize(runtime_, stream_), "copy");
  return copy;
}

KvPlanes Cache::planes(unsigned layer, BlockList blocks) const {
  const pipeline::ModelShape& model = options_.model;
  return {.keys = emulated::kernel_view(planes_[kPlanesPerLayer * layer]),
          .values = emulated::kernel_view(planes_[kPlanesPerLayer * layer + 1]),
          .block_stride = block_stride_,
          .token_stride = std::size_t{model.kv_heads} * model.head_bytes,
          .head_stride = model.head_bytes,
          .tokens_per_block = options_.tokens_per_block,
          .blocks = blocks};
}

void Cache::compute_one(const Work& work, std::vector<Token>& wanted) const {
  const pipeline::ModelShape& model = options_.model;
  const pipeline::Part whole = pipeline::part_of(model, {1, 1}, 0, 0);
  std::vector<Hidden> hidden;
  for (const Token token : work.tokens) hidden.push_back(pipeline::embed(token));
  for (unsigned layer = 0; layer < model.layers; ++layer) {
    const KvPlanes kv = planes(layer, work.blocks);
    for (std::uint32_t i = 0; i < hidden.size(); ++i) {
      const std::uint32_t position = work.first + i;
      pipeline::write_kv(model, whole, layer, kv, position, hidden[i]);
      const Hidden sum = pipeline::attend(model, whole, layer, kv, position, hidden[i]);
      hidden[i] = pipeline::finish_layer(layer, hidden[i], sum);
    }
  }
  if (!work.wanted) return;
  const auto last = work.first + static_cast<std::uint32_t>(work.tokens.size()) - 1;
  wanted.push_back(pipeline::sample(hidden.back(), work.seed, last));
}

std::vector<Token> Cache::compute(std::span<const Work> work) {
  std::vector<Token> wanted;
  auto kernel = [this, work, &wanted] {
    for (const Work& one : work) compute_one(one, wanted);
  };
  must(emulated::launch(runtime_, stream_, std::move(kernel)), "launch");
  must(emulated::synchronize(runtime_, stream_), "kernel");
  return wanted;
}

}  // namespace aqua::fleet
