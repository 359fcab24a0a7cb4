// SPDX-License-Identifier: Apache-2.0
// Pipelines for tests of streams: each rank has a cache on the emulated device, with its layers and
// heads, and a streamer. Each byte of KV is a function of where it is in the model.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/kv_stream/streamer.hpp"
#include "aqua/runtime.hpp"
#include "tests/handoff/memory_carrier.hpp"

namespace aqua::test {

template <typename T>
T sure(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}
inline void sure(const Result<void>& result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
}

enum class Order : std::uint8_t { tokens_first, heads_first, runs_first };

struct PipelineSpec {
  KvShards shards{};
  Order order = Order::tokens_first;
  std::uint32_t blocks = 12;
};

class Rank {
 public:
  static constexpr std::byte kUntouched{0xee};

  Rank(Runtime& runtime, MemoryHub& hub, const std::string& group, std::uint32_t number,
       const PipelineSpec& spec, std::vector<kv_stream::StreamGroup> others, std::mt19937& random)
      : runtime_(runtime),
        spec_(spec),
        shard_(sure(shards_of(spec.shards))[number]),
        axes_(axes()),
        plane_bytes_(spec.blocks * axes_.bytes()),
        memory_(sure(emulated::allocate(runtime, planes() * plane_bytes_))),
        layout_(lay_out()),
        stream_(sure(emulated::create_stream(runtime))),
        carrier(hub, runtime, layout_, kv_stream::Streamer::role(group, number)),
        streamer(sure(kv_stream::Streamer::create(carrier, layout_,
                                                  {.group = group,
                                                   .rank = number,
                                                   .shards = spec.shards,
                                                   .others = std::move(others)}))) {
    for (std::uint32_t block = 0; block < spec.blocks; ++block) all_blocks_.push_back(block);
    std::ranges::shuffle(all_blocks_, random);
    auto clear = [this] {
      std::memset(emulated::kernel_view(memory_.data()), static_cast<int>(kUntouched),
                  planes() * plane_bytes_);
    };
    sure(emulated::launch(runtime_, stream_, clear));
  }
  ~Rank() { (void)emulated::destroy_stream(runtime_, stream_); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] unsigned layers() const { return layout_.layers(); }
  // Blocks for so many tokens.
  [[nodiscard]] std::vector<std::uint32_t> blocks_for(std::uint32_t tokens) const {
    const std::uint32_t each = spec_.shards.shape.tokens_per_block;
    return {all_blocks_.begin(), all_blocks_.begin() + (tokens + each - 1) / each};
  }

  // Queues the kernel that writes a layer's KV, `salt` being the sequence's.
  void write(unsigned layer, std::uint32_t tokens, unsigned salt) {
    visit(layer, tokens,
          [salt](std::byte& byte, unsigned value) { byte = std::byte(value + salt); });
  }
  // Overwrites the whole cache, behind what is queued.
  void wipe() {
    sure(emulated::launch(runtime_, stream_, [this] {
      std::memset(emulated::kernel_view(memory_.data()), 0, planes() * plane_bytes_);
    }));
  }
  // Waits; how many bytes are not what write() would have left in a cache that was untouched.
  [[nodiscard]] std::size_t wrong(std::uint32_t tokens, unsigned salt) {
    std::vector<std::byte> have(planes() * plane_bytes_), wanted(have.size(), kUntouched);
    sure(emulated::launch(runtime_, stream_, [&] {
      std::memcpy(have.data(), emulated::kernel_view(memory_.data()), have.size());
    }));
    sure(emulated::synchronize(runtime_, stream_));
    for (unsigned layer = 0; layer < layers(); ++layer) {
      each_byte(layer, tokens, [&](std::size_t at, unsigned value) {
        wanted[at] = std::byte(static_cast<std::uint8_t>(value + salt));
      });
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < have.size(); ++i) count += have[i] != wanted[i] ? 1U : 0U;
    return count;
  }

 private:
  [[nodiscard]] unsigned planes() const {
    return shard_.layers.count * spec_.shards.shape.planes_per_layer;
  }
  [[nodiscard]] BlockAxes axes() const {
    const KvShape& shape = spec_.shards.shape;
    const auto heads = static_cast<std::uint32_t>(shard_.heads.size());
    switch (spec_.order) {
      case Order::tokens_first:
        return BlockAxes::tokens_first(shape.tokens_per_block, heads, shape.head_bytes);
      case Order::heads_first:
        return BlockAxes::heads_first(shape.tokens_per_block, heads, shape.head_bytes);
      case Order::runs_first:
        break;
    }
    return BlockAxes::runs_first(shape.tokens_per_block, heads, 2, shape.head_bytes / 2);
  }
  [[nodiscard]] Layout lay_out() const {
    LayoutSpec spec{.layers = shard_.layers.count,
                    .planes_per_layer = spec_.shards.shape.planes_per_layer,
                    .block_count = spec_.blocks,
                    .block_stride = axes_.bytes(),
                    .axes = axes_};
    for (unsigned plane = 0; plane < planes(); ++plane)
      spec.planes.push_back(memory_.data() + plane * plane_bytes_);
    return sure(Layout::make(std::move(spec)));
  }
  // Straight from the address formula of aqua/layout.hpp: calls visit(place in the memory, value).
  template <typename Visit>
  void each_byte(unsigned layer, std::uint32_t tokens, Visit visit) const {
    const KvShape& shape = spec_.shards.shape;
    const auto blocks = blocks_for(tokens);
    for (unsigned plane = 0; plane < shape.planes_per_layer; ++plane) {
      for (std::uint32_t token = 0; token < tokens; ++token) {
        for (std::uint32_t head = 0; head < shard_.heads.size(); ++head) {
          for (std::size_t i = 0; i < shape.head_bytes; ++i) {
            const std::size_t at = (layer * shape.planes_per_layer + plane) * plane_bytes_ +
                                   blocks[token / shape.tokens_per_block] * axes_.bytes() +
                                   token % shape.tokens_per_block * axes_.tokens.stride +
                                   head * axes_.heads.stride +
                                   i / axes_.run_bytes * axes_.runs.stride + i % axes_.run_bytes;
            const auto value =
                static_cast<unsigned>((shard_.layers.first + layer) * 101 + plane * 57 +
                                      token * 31 + shard_.heads[head] * 17 + i * 7);
            visit(at, value);
          }
        }
      }
    }
  }
  template <typename Write>
  void visit(unsigned layer, std::uint32_t tokens, Write write) {
    sure(emulated::launch(runtime_, stream_, [this, layer, tokens, write] {
      std::byte* const memory = emulated::kernel_view(memory_.data());
      each_byte(layer, tokens, [&](std::size_t at, unsigned value) { write(memory[at], value); });
    }));
  }

  Runtime& runtime_;
  const PipelineSpec spec_;
  const RankShard shard_;
  const BlockAxes axes_;
  const std::size_t plane_bytes_;
  emulated::Memory memory_;
  Layout layout_;
  Stream stream_;
  std::vector<std::uint32_t> all_blocks_{};

 public:
  MemoryCarrier carrier;
  kv_stream::Streamer streamer;
};

using Ranks = std::vector<std::unique_ptr<Rank>>;

inline Ranks make_ranks(Runtime& runtime, MemoryHub& hub, const std::string& group,
                        const PipelineSpec& spec, std::vector<kv_stream::StreamGroup> others,
                        std::mt19937& random) {
  Ranks ranks;
  const auto count = sure(shards_of(spec.shards)).size();
  for (std::uint32_t rank = 0; rank < count; ++rank)
    ranks.push_back(std::make_unique<Rank>(runtime, hub, group, rank, spec, others, random));
  return ranks;
}

}  // namespace aqua::test
