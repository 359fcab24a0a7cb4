// SPDX-License-Identifier: Apache-2.0
// Random caches that hold the same part of a sequence in different places, and a naive model of
// where each byte of it lies, straight from the words of aqua/layout.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "aqua/kv_range.hpp"
#include "aqua/layout.hpp"

namespace aqua::test {

// What both ends of a copy have: an engine with keys and values, of one head (MQA) or several (MHA,
// GQA), or with one latent (MLA).
struct PagesShape {
  unsigned layers = 1, planes_per_layer = 1;
  std::uint32_t tokens = 1, heads = 1;
  std::uint32_t runs = 1;     // that a head of a token may be split into
  std::size_t run_bytes = 1;  // of one of these

  explicit PagesShape(std::mt19937& random) {
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    const bool mla = below(4) == 0;
    layers = 1 + below(3);
    planes_per_layer = mla ? 1 : 2;
    tokens = 1 + below(9);
    heads = mla ? 1 : 1 + below(4);
    runs = 1 + below(4);
    run_bytes = below(2) == 0 ? 1 + below(9) : 16;
  }
  [[nodiscard]] std::size_t head_bytes() const { return runs * run_bytes; }
  [[nodiscard]] std::size_t planes() const { return std::size_t{layers} * planes_per_layer; }
};

// One end: a cache that has the shape's layers, tokens and heads and perhaps more of all, in blocks
// of any size and any order of axes.
class RandomPages {
 public:
  RandomPages(const PagesShape& shape, std::mt19937& random) : shape_(shape) {
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    const bool mla = shape.planes_per_layer == 1;
    range_ = {
        {below(3), shape.layers}, {below(6), shape.tokens}, {mla ? 0 : below(3), shape.heads}};
    spec_.layers = range_.layers.first + shape.layers + below(2);
    spec_.planes_per_layer = shape.planes_per_layer;
    const std::uint32_t heads = range_.heads.first + shape.heads + (mla ? 0 : below(2));
    const std::uint32_t tokens = 1 + below(6);
    const auto listed = (range_.tokens.first + shape.tokens + below(3) + tokens - 1) / tokens;
    spec_.block_count = listed + below(4);
    choose_axes(tokens, heads, random);
    blocks_.resize(spec_.block_count);
    std::iota(blocks_.begin(), blocks_.end(), 0U);
    std::shuffle(blocks_.begin(), blocks_.end(), random);
    blocks_.resize(listed);
    if (below(2) == 0) open_ends(heads);
    const std::size_t plane = plane_ + below(3) * 8;
    places_.resize(std::size_t{spec_.layers} * shape.planes_per_layer);
    for (std::size_t i = 0; i < places_.size(); ++i) places_[i] = i * plane;
    std::shuffle(places_.begin(), places_.end(), random);
    extent_ = places_.size() * plane;
  }

  [[nodiscard]] Layout layout(std::byte* base) const {
    LayoutSpec spec = spec_;
    for (const std::size_t place : places_) spec.planes.push_back(base + place);
    return Layout::make(std::move(spec)).value();
  }
  [[nodiscard]] const KvRange& range() const { return range_; }
  [[nodiscard]] const std::vector<std::uint32_t>& blocks() const { return blocks_; }
  [[nodiscard]] std::size_t extent() const { return extent_; }

  // Where, from the base on, byte `i` of a head of a token lies in a plane, all counted from the
  // beginning of the range.
  [[nodiscard]] std::size_t at(std::size_t plane, std::size_t token, std::size_t head,
                               std::size_t i) const {
    const BlockAxes& axes = spec_.axes;
    const std::size_t t = range_.tokens.first + token;
    const std::size_t block = blocks_[t / axes.tokens.count];
    return places_[range_.layers.first * spec_.planes_per_layer + plane] +
           block * spec_.block_stride + t % axes.tokens.count * axes.tokens.stride +
           (range_.heads.first + head) * axes.heads.stride + i / axes.run_bytes * axes.runs.stride +
           i % axes.run_bytes;
  }

 private:
  // Six orders, the last two with heads outermost in the plane, and with gaps everywhere.
  void choose_axes(std::uint32_t tokens, std::uint32_t heads, std::mt19937& random) {
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    const std::size_t head = shape_.head_bytes();
    const std::size_t gap = below(3) * 8;
    const std::uint32_t merged = below(2) == 0 && shape_.runs % 2 == 0 ? 2 : 1;
    const std::uint32_t runs = shape_.runs / merged;
    const std::size_t run = shape_.run_bytes * merged;
    switch (below(6)) {
      case 0:
        spec_.axes = BlockAxes::tokens_first(tokens, heads, head);
        break;
      case 1:
        spec_.axes = BlockAxes::heads_first(tokens, heads, head);
        break;
      case 2:
        spec_.axes = BlockAxes::runs_first(tokens, heads, runs, run);
        break;
      case 3:  // keys and values of a token side by side
        spec_.axes = BlockAxes::tokens_first(tokens, heads, head);
        spec_.axes.tokens.stride *= 2;
        break;
      case 4:
        spec_.block_stride = tokens * head + gap;
        spec_.axes = {
            {tokens, head}, {heads, spec_.block_stride * spec_.block_count + gap}, {}, head};
        plane_ = heads * spec_.axes.heads.stride;
        return;
      default:
        spec_.axes = {{tokens, runs * (run + 3) + 1},
                      {heads, tokens * (runs * (run + 3) + 1) + 5},
                      {runs, run + 3},
                      run};
    }
    const std::size_t block =
        std::max({tokens * spec_.axes.tokens.stride, heads * spec_.axes.heads.stride,
                  runs * spec_.axes.runs.stride});
    spec_.block_stride = block + gap;
    plane_ = spec_.block_count * spec_.block_stride;
  }
  // "All the rest" says the same as a number where the range goes to the end.
  void open_ends(std::uint32_t heads) {
    if (range_.layers.first + shape_.layers == spec_.layers) range_.layers.count = kToTheEnd;
    if (range_.heads.first + shape_.heads == heads) range_.heads.count = kToTheEnd;
    if (range_.tokens.first + shape_.tokens == blocks_.size() * spec_.axes.tokens.count)
      range_.tokens.count = kToTheEnd;
  }

  PagesShape shape_;
  LayoutSpec spec_;
  KvRange range_;
  std::vector<std::uint32_t> blocks_;
  std::vector<std::size_t> places_;  // of the planes
  std::size_t plane_ = 0;            // bytes from one plane to the next
  std::size_t extent_ = 0;
};

// Calls visit(plane, token, head, byte) for every byte of the shape, in the order of the packed
// form of a range.
template <typename Visit>
void each_byte(const PagesShape& shape, Visit visit) {
  for (std::size_t p = 0; p < shape.planes(); ++p) {
    for (std::size_t t = 0; t < shape.tokens; ++t) {
      for (std::size_t h = 0; h < shape.heads; ++h) {
        for (std::size_t i = 0; i < shape.head_bytes(); ++i) visit(p, t, h, i);
      }
    }
  }
}

}  // namespace aqua::test
