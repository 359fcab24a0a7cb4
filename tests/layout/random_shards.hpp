// SPDX-License-Identifier: Apache-2.0
// Random pipelines over one model, and the memory of their ranks, byte by byte: a naive model of
// what aqua/shards.hpp says in words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "aqua/shards.hpp"
#include "layout/checked_blocks.hpp"

namespace aqua::test {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  std::mt19937& random() { return random_; }

 private:
  std::mt19937 random_;
};

inline KvShape random_shape(Draw& draw) {
  const bool mla = draw.below(4) == 0;
  return {.layers = 1 + draw.below(6),
          .planes_per_layer = mla ? 1U : 2U,
          .kv_heads = mla ? 1 : 1 + draw.below(8),
          .head_bytes = 1 + draw.below(4),
          .tokens_per_block = 1 + draw.below(5),
          .format = "bytes"};
}

// Uneven stages, a number of ranks that heads can be dealt to, and heads in any order.
inline Parallelism random_parallelism(const KvShape& shape, Draw& draw) {
  Parallelism made;
  for (std::uint32_t left = draw.below(4) == 0 ? 0 : shape.layers; left != 0;) {
    const std::uint32_t some = 1 + draw.below(std::min(left, 4U));
    made.stage_layers.push_back(some);
    left -= some;
  }
  do {
    made.tensor_ranks = 1 + draw.below(6);
  } while (shape.kv_heads % made.tensor_ranks != 0 && made.tensor_ranks % shape.kv_heads != 0);
  if (draw.below(2) == 0) return made;
  made.heads.resize(std::max(shape.kv_heads, made.tensor_ranks));
  for (std::uint32_t i = 0; i < made.heads.size(); ++i) made.heads[i] = i % shape.kv_heads;
  std::shuffle(made.heads.begin(), made.heads.end(), draw.random());
  return made;
}

// One rank's cache with one sequence in it.
class RankCache {
 public:
  RankCache(const KvShards& of, std::uint32_t rank, std::uint32_t tokens, Draw& draw)
      : shape_(of.shape) {
    const Parallelism& how = of.parallelism;
    const std::uint32_t stage = rank / how.tensor_ranks;
    std::vector<std::uint32_t> stages = how.stage_layers;
    if (stages.empty()) stages = {shape_.layers};
    first_layer_ = std::accumulate(stages.begin(), stages.begin() + stage, 0U);
    layers_ = stages[stage];
    const std::uint32_t slots = std::max(shape_.kv_heads, how.tensor_ranks);
    const std::uint32_t own = slots / how.tensor_ranks;
    for (std::uint32_t i = rank % how.tensor_ranks * own; heads_.size() < own; ++i)
      heads_.push_back(how.heads.empty() ? i / (slots / shape_.kv_heads) : how.heads[i]);

    const std::uint32_t listed = (tokens + shape_.tokens_per_block - 1) / shape_.tokens_per_block;
    blocks_.resize(listed + draw.below(2));
    std::iota(blocks_.begin(), blocks_.end(), 0U);
    std::shuffle(blocks_.begin(), blocks_.end(), draw.random());
    const auto all = static_cast<std::uint32_t>(blocks_.size());
    blocks_.resize(listed);
    axes_ = draw.below(2) == 0
                ? BlockAxes::tokens_first(shape_.tokens_per_block, own, shape_.head_bytes)
                : BlockAxes::runs_first(shape_.tokens_per_block, own,
                                        static_cast<std::uint32_t>(shape_.head_bytes), 1);
    plane_bytes_ = all * axes_.bytes();
    bytes_.resize(planes() * plane_bytes_);
    spec_ = {.layers = layers_,
             .planes_per_layer = shape_.planes_per_layer,
             .block_count = all,
             .block_stride = axes_.bytes(),
             .axes = axes_};
  }
  [[nodiscard]] std::size_t planes() const {
    return std::size_t{layers_} * shape_.planes_per_layer;
  }
  [[nodiscard]] Layout layout() {
    LayoutSpec spec = spec_;
    for (std::size_t p = 0; p < planes(); ++p)
      spec.planes.push_back(bytes_.data() + p * plane_bytes_);
    return Layout::make(spec).value();
  }
  // Calls visit(offset, what the byte is of) for each byte of so many tokens.
  template <typename Visit>
  void each_byte(std::uint32_t tokens, Visit visit) const {
    for (std::size_t p = 0; p < planes(); ++p) {
      for (std::uint32_t t = 0; t < tokens; ++t) {
        for (std::uint32_t h = 0; h < heads_.size(); ++h) {
          for (std::size_t i = 0; i < shape_.head_bytes; ++i) {
            const std::size_t block = blocks_[t / shape_.tokens_per_block];
            const std::size_t at = p * plane_bytes_ + block * axes_.bytes() +
                                   t % shape_.tokens_per_block * axes_.tokens.stride +
                                   h * axes_.heads.stride +
                                   i / axes_.run_bytes * axes_.runs.stride + i % axes_.run_bytes;
            const std::size_t plane = first_layer_ * shape_.planes_per_layer + p;
            std::size_t word = ((plane * 64 + t) * 64 + heads_[h]) * 64 + i;
            word *= 0x9e3779b97f4a7c15;
            visit(at, static_cast<std::byte>(word >> 56));
          }
        }
      }
    }
  }
  std::vector<std::byte>& bytes() { return bytes_; }
  [[nodiscard]] const std::vector<std::uint32_t>& blocks() const { return blocks_; }
  [[nodiscard]] std::uint32_t first_layer() const { return first_layer_; }
  [[nodiscard]] const std::vector<std::uint32_t>& heads() const { return heads_; }

 private:
  KvShape shape_;
  std::uint32_t first_layer_ = 0, layers_ = 0;
  std::vector<std::uint32_t> heads_;
  std::vector<std::uint32_t> blocks_;
  BlockAxes axes_;
  std::size_t plane_bytes_ = 0;
  std::vector<std::byte> bytes_;
  LayoutSpec spec_;
};

inline std::vector<RankCache> caches_of(const KvShards& of, std::uint32_t tokens, Draw& draw) {
  std::vector<RankCache> caches;
  const std::size_t stages = std::max<std::size_t>(of.parallelism.stage_layers.size(), 1);
  for (std::uint32_t rank = 0; rank < stages * of.parallelism.tensor_ranks; ++rank)
    caches.emplace_back(of, rank, tokens, draw);
  return caches;
}

}  // namespace aqua::test
