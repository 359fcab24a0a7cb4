// SPDX-License-Identifier: Apache-2.0
// A model of which not every layer is alike: one kind of layers in a pool, another kind, with other
// blocks, in a second one, and between them layers that stay in memory of the engine's own. Their
// turns come in the model's order, on one stream, unevenly spaced.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/runtime.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using Blocks = std::vector<std::uint32_t>;

constexpr std::size_t kOwnBytes = 64_KiB;  // of a layer that stays

class MixedLayers : public ::testing::Test {
 protected:
  // What a block, or a layer of the engine's own, was filled with last.
  static std::byte value(std::size_t kind, std::uint32_t layer, std::uint32_t block,
                         std::uint32_t step) {
    return static_cast<std::byte>(kind * 101 + layer * 37 + block * 11 + step * 3 + 1);
  }
  MixedLayers()
      : runtime_(*Runtime::open({.device = "emu:0",
                                 .coordinator = "none",
                                 .host_bytes = 128_MiB,
                                 .emulated = {.total_bytes = 96_MiB, .hostile = true}})),
        stream_(*emulated::create_stream(runtime_)),
        own_(*emulated::allocate(runtime_, kOwnBytes)) {}
  ~MixedLayers() override {
    settle();
    EXPECT_TRUE(emulated::destroy_stream(runtime_, stream_).ok());
  }
  void settle() { EXPECT_TRUE(emulated::synchronize(runtime_, stream_).ok()); }
  void launch(std::function<void()> kernel) {
    EXPECT_TRUE(emulated::launch(runtime_, stream_, std::move(kernel)).ok());
  }
  // A kernel that compares what lies there with `old`, unless that is none, and fills it anew.
  void rewrite(std::byte* at, std::size_t bytes, std::optional<std::byte> old,
               std::optional<std::byte> fresh) {
    launch([this, at, bytes, old, fresh] {
      std::byte* const memory = emulated::kernel_view(at);
      if (old && std::count(memory, memory + bytes, *old) != static_cast<std::ptrdiff_t>(bytes))
        ++wrong_;
      if (fresh) std::memset(memory, std::to_integer<int>(*fresh), bytes);
    });
  }

  // One kind of layers, and the blocks of theirs that were written, by the step that did.
  struct Kind {
    LayerPoolOptions options;
    LayerPool pool;
    std::vector<std::uint32_t> written;
  };
  void open(std::size_t kind, const LayerPoolOptions& options) {
    auto pool = LayerPool::create(runtime_, options);
    ASSERT_TRUE(pool.ok()) << pool.error().message;
    std::vector<std::uint32_t> written(pool->usable_blocks());
    kinds_[kind].emplace(Kind{options, std::move(*pool), std::move(written)});
  }
  static Blocks written_of(const Kind& kind) {
    Blocks blocks;
    for (std::uint32_t b = 0; b < kind.written.size(); ++b) {
      if (kind.written[b] != 0) blocks.push_back(b);
    }
    return blocks;
  }
  // The next layer of this kind: all that was written is compared, and `writes` are written.
  void run_layer(std::size_t number, std::uint32_t layer, const Blocks& writes) {
    Kind& kind = *kinds_[number];
    const std::size_t bytes = kind.options.block_bytes;
    const auto planes = kind.pool.begin_layer(layer);
    ASSERT_TRUE(planes.ok()) << planes.error().message;
    for (std::byte* const plane : *planes) {
      for (const std::uint32_t b : written_of(kind))
        rewrite(plane + b * bytes, bytes, value(number, layer, b, kind.written[b]), {});
      for (const std::uint32_t b : writes)
        rewrite(plane + b * bytes, bytes, {}, value(number, layer, b, step_));
    }
    ASSERT_TRUE(kind.pool.end_layer(layer).ok());
  }
  // A step of a model that has layers of the two kinds, and of its own (2), in this order.
  void step(const std::vector<std::size_t>& model, const std::array<Blocks, 2>& writes) {
    ++step_;
    std::array<std::uint32_t, 2> next{};
    for (std::size_t k = 0; k < 2; ++k) {
      const Blocks reads = written_of(*kinds_[k]);
      ASSERT_TRUE(kinds_[k]->pool.begin_step(stream_, reads, writes[k]).ok());
    }
    for (const std::size_t kind : model) {
      if (kind < 2) {
        run_layer(kind, next[kind]++, writes[kind]);
      } else {
        const auto old = own_step_ == 0 ? std::nullopt : std::optional(value(2, 0, 0, own_step_));
        rewrite(own_.data(), kOwnBytes, old, value(2, 0, 0, ++own_step_));
      }
    }
    for (std::size_t k = 0; k < 2; ++k) {
      for (const std::uint32_t b : writes[k]) kinds_[k]->written[b] = step_;
      ASSERT_TRUE(kinds_[k]->pool.end_step().ok());
    }
  }

  Runtime runtime_;
  Stream stream_;
  emulated::Memory own_;
  std::array<std::optional<Kind>, 2> kinds_;
  std::uint32_t step_ = 0, own_step_ = 0;
  std::atomic<unsigned> wrong_ = 0;  // blocks
};

TEST_F(MixedLayers, OfTwoSizesAreTwoPoolsInOneStepAndOthersStayOutside) {
  open(0, {.layers = 6,
           .planes_per_layer = 1,
           .block_bytes = 512_KiB,
           .device_bytes = 24_MiB,
           .frames = 4});
  open(1, {.layers = 4,
           .planes_per_layer = 2,
           .block_bytes = 128_KiB,
           .device_bytes = 16_MiB,
           .frames = 3});
  const std::vector<std::size_t> model{0, 0, 1, 2, 0, 1, 2, 2, 2, 1, 0, 0, 0, 1, 2};
  Blocks all0(kinds_[0]->pool.usable_blocks()), all1(kinds_[1]->pool.usable_blocks());
  for (std::uint32_t b = 0; b < all0.size(); ++b) all0[b] = b;
  for (std::uint32_t b = 0; b < all1.size(); ++b) all1[b] = b;
  step(model, {all0, all1});
  for (std::uint32_t i = 0; i < 4; ++i) step(model, {Blocks{i, i + 4}, Blocks{3 * i}});
  settle();
  ASSERT_TRUE(kinds_[0]->pool.resize(3).ok());
  kinds_[0]->written.resize(kinds_[0]->pool.usable_blocks());
  for (std::uint32_t i = 0; i < 3; ++i) step(model, {Blocks{i}, Blocks{i + 1}});
  settle();
  EXPECT_EQ(wrong_, 0U);
  for (const auto& kind : kinds_) {
    EXPECT_GT(kind->pool.status().streamed_layers, 1U);
    EXPECT_GT(kind->pool.status().fetched_bytes, 0U);
  }
}

}  // namespace
}  // namespace aqua
