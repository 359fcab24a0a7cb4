// SPDX-License-Identifier: Apache-2.0
#include "serve/kv_cache.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "must.hpp"

namespace aqua::pipeline {
namespace {

using example::must;

constexpr unsigned kPlanesPerLayer = 2;  // keys, values

std::size_t block_bytes(const ModelShape& model, const Part& part, const CacheOptions& options) {
  return std::size_t{options.tokens_per_block} * part.kv_heads.count * model.head_bytes;
}

Layout lay_out(const ModelShape& model, const Part& part, const CacheOptions& options,
               std::byte* memory) {
  const std::size_t plane_bytes = options.blocks * block_bytes(model, part, options);
  std::vector<std::byte*> keys, values;
  for (unsigned layer = 0; layer < part.layers.count; ++layer) {
    keys.push_back(memory + kPlanesPerLayer * layer * plane_bytes);
    values.push_back(keys.back() + plane_bytes);
  }
  return must(Layout::mha({.layers = part.layers.count,
                           .block_count = options.blocks,
                           .tokens_per_block = options.tokens_per_block,
                           .element_bytes = 1,
                           .order = options.heads_first ? BlockOrder::heads_first
                                                        : BlockOrder::tokens_first},
                          part.kv_heads.count, model.head_bytes, keys, values),
              "layout");
}

}  // namespace

KvCache::KvCache(Runtime& runtime, const ModelShape& model, const Part& part,
                 const CacheOptions& options)
    : part_(part),
      options_(options),
      memory_(
          must(emulated::allocate(runtime, kPlanesPerLayer * part.layers.count * options.blocks *
                                               block_bytes(model, part, options)),
               "KV cache")),
      layout_(lay_out(model, part, options, memory_.data())),
      free_(options.blocks) {
  std::iota(free_.begin(), free_.end(), 0U);
  // Each process has its own order, so that equal block numbers are no help to anybody.
  std::ranges::shuffle(free_, std::minstd_rand(part.layers.first * 31 + part.kv_heads.first + 1));
}

void KvCache::reserve(std::uint64_t sequence, std::uint32_t tokens) {
  const std::size_t wanted = (tokens + options_.tokens_per_block - 1) / options_.tokens_per_block;
  std::vector<std::uint32_t>& blocks = sequences_[sequence];
  if (wanted > blocks.size() + free_.size()) {
    throw example::Failure("the KV cache is full: sequence " + std::to_string(sequence) +
                           " needs " + std::to_string(wanted) + " blocks, " +
                           std::to_string(free_.size()) + " are free");
  }
  while (blocks.size() < wanted) {
    blocks.push_back(free_.back());
    free_.pop_back();
  }
}

std::vector<std::uint32_t> KvCache::blocks_of(std::uint64_t sequence) const {
  const auto found = sequences_.find(sequence);
  return found == sequences_.end() ? std::vector<std::uint32_t>{} : found->second;
}

std::vector<std::uint64_t> KvCache::sequences() const {
  std::vector<std::uint64_t> all;
  for (const auto& [sequence, blocks] : sequences_) all.push_back(sequence);
  return all;
}

void KvCache::release(std::uint64_t sequence) {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) return;
  free_.insert(free_.end(), found->second.begin(), found->second.end());
  sequences_.erase(found);
}

KvPlanes KvCache::planes(unsigned layer, BlockList blocks) const {
  const LayoutSpec& spec = layout_.spec();
  const std::size_t first = std::size_t{kPlanesPerLayer} * (layer - part_.layers.first);
  return {.keys = spec.planes[first],
          .values = spec.planes[first + 1],
          .block_stride = spec.block_stride,
          .token_stride = spec.axes.tokens.stride,
          .head_stride = spec.axes.heads.stride,
          .tokens_per_block = options_.tokens_per_block,
          .blocks = blocks};
}

}  // namespace aqua::pipeline
