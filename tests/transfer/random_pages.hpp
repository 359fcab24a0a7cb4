// SPDX-License-Identifier: Apache-2.0
// Random caches that hold the same tokens and heads in different places of their blocks, and a
// naive model of where each byte of those lies, straight from the words of aqua/layout.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "transfer/block_axes.hpp"

namespace aqua::test {

// What both ends of a copy have: an engine with keys and values, of one head (MQA) or several (MHA,
// GQA), or with one latent (MLA).
struct PagesShape {
  unsigned layers = 1, planes_per_layer = 1;
  std::uint32_t blocks = 1, tokens = 1, heads = 1;
  std::size_t bytes = 1;  // of a head of a token

  explicit PagesShape(std::mt19937& random) {
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    const bool mla = below(4) == 0;
    layers = 1 + below(3);
    planes_per_layer = mla ? 1 : 2;
    blocks = 1 + below(5);
    tokens = 1 + below(5);
    heads = mla ? 1 : 1 + below(4);
    bytes = below(2) == 0 ? 1 + below(40) : 16 * (1 + below(3));
  }
};

// One end: a cache whose blocks have the shape's tokens and heads and perhaps more of both, in one
// of three orders.
class RandomPages {
 public:
  RandomPages(const PagesShape& shape, std::mt19937& random) : shape_(shape) {
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    transfer::BlockPart& p = part_;
    p.tokens = {below(3), shape.tokens};
    p.heads = {shape.planes_per_layer == 1 ? 0 : below(3), shape.heads};
    p.axes.tokens = p.tokens.first + shape.tokens + below(3);
    p.axes.heads = p.heads.first + shape.heads + (shape.planes_per_layer == 1 ? 0 : below(2));
    p.axes.bytes = shape.bytes;
    if (p.tokens.first + p.tokens.count == p.axes.tokens && below(2) == 0)
      p.tokens.count = UINT32_MAX;  // to the end
    spec_.layers = shape.layers;
    spec_.planes_per_layer = shape.planes_per_layer;
    spec_.block_count = 2 * shape.blocks;
    order_ = static_cast<Order>(below(3));
    const std::size_t gap = below(3) * 8;
    const std::size_t run = p.axes.tokens * shape.bytes;  // of one head, where its tokens are dense
    spec_.segment_bytes = run * p.axes.heads;
    spec_.block_stride = spec_.segment_bytes + gap;
    if (order_ == Order::heads_outermost) {
      spec_.segments_per_block = p.axes.heads;
      spec_.segment_bytes = run;
      spec_.block_stride = run + gap;
      spec_.segment_stride = spec_.block_stride * spec_.block_count + gap;
      p.axes.token_stride = shape.bytes;
      p.axes.head_stride = spec_.segment_stride;
    } else if (order_ == Order::tokens_first) {
      p.axes = transfer::BlockAxes::tokens_first(p.axes.tokens, p.axes.heads, shape.bytes);
    } else {
      p.axes = transfer::BlockAxes::heads_first(p.axes.tokens, p.axes.heads, shape.bytes);
    }
    blocks_.resize(spec_.block_count);
    std::iota(blocks_.begin(), blocks_.end(), 0U);
    std::shuffle(blocks_.begin(), blocks_.end(), random);
    blocks_.resize(shape.blocks);
    const std::size_t plane = spec_.block_stride * spec_.block_count +
                              (spec_.segments_per_block - 1) * spec_.segment_stride + gap;
    places_.resize(std::size_t{shape.layers} * shape.planes_per_layer);
    for (std::size_t i = 0; i < places_.size(); ++i) places_[i] = i * plane;
    std::shuffle(places_.begin(), places_.end(), random);
    extent_ = places_.size() * plane;
  }

  [[nodiscard]] Layout layout(std::byte* base) const {
    LayoutSpec spec = spec_;
    for (const std::size_t place : places_) spec.planes.push_back(base + place);
    return Layout::make(std::move(spec)).value();
  }
  [[nodiscard]] const transfer::BlockPart& part() const { return part_; }
  [[nodiscard]] const std::vector<std::uint32_t>& blocks() const { return blocks_; }
  [[nodiscard]] std::size_t extent() const { return extent_; }

  // Where, from the base on, the shape's token and head of the listed block lie in a plane.
  [[nodiscard]] std::size_t at(std::size_t plane, std::size_t i, std::size_t token,
                               std::size_t head) const {
    const std::size_t t = part_.tokens.first + token;
    const std::size_t h = part_.heads.first + head;
    const std::size_t block = places_[plane] + blocks_[i] * spec_.block_stride;
    switch (order_) {
      case Order::tokens_first:
        return block + (t * part_.axes.heads + h) * shape_.bytes;
      case Order::heads_first:
        return block + (h * part_.axes.tokens + t) * shape_.bytes;
      case Order::heads_outermost:
        break;
    }
    return block + h * spec_.segment_stride + t * shape_.bytes;
  }
  // Where the named runs of one block of a plane begin, in the order of the packed form.
  [[nodiscard]] std::vector<std::size_t> runs(std::size_t plane, std::size_t i) const {
    std::vector<std::size_t> runs;
    for (std::size_t t = 0; t < shape_.tokens; ++t) {
      for (std::size_t h = 0; h < shape_.heads; ++h) runs.push_back(at(plane, i, t, h));
    }
    std::sort(runs.begin(), runs.end());
    return runs;
  }
  // Calls visit(offset in the cache, offset in the packed form) for every run of `bytes`.
  template <typename Visit>
  void each_packed(Visit visit) const {
    std::size_t packed = 0;
    for (std::size_t p = 0; p < places_.size(); ++p) {
      for (std::size_t i = 0; i < shape_.blocks; ++i) {
        for (const std::size_t run : runs(p, i))
          visit(run, std::exchange(packed, packed + shape_.bytes));
      }
    }
  }

 private:
  enum class Order : std::uint8_t { tokens_first, heads_first, heads_outermost };
  PagesShape shape_;
  LayoutSpec spec_;
  Order order_ = Order::tokens_first;
  transfer::BlockPart part_;
  std::vector<std::uint32_t> blocks_;
  std::vector<std::size_t> places_;  // of the planes
  std::size_t extent_ = 0;
};

// Calls visit(offset at the one end, offset at the other) for every run of `shape.bytes`.
template <typename Visit>
void each_run(const PagesShape& shape, const RandomPages& one, const RandomPages& other,
              Visit visit) {
  for (std::size_t p = 0; p < std::size_t{shape.layers} * shape.planes_per_layer; ++p) {
    for (std::size_t i = 0; i < shape.blocks; ++i) {
      for (std::size_t t = 0; t < shape.tokens; ++t) {
        for (std::size_t h = 0; h < shape.heads; ++h)
          visit(one.at(p, i, t, h), other.at(p, i, t, h));
      }
    }
  }
}

}  // namespace aqua::test
