// SPDX-License-Identifier: Apache-2.0
// Parts of a sequence that move alone: a step's token to where its sequence is kept, some heads of
// some layers to an engine whose blocks are others.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "tests/base/open_emulated.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using Blocks = std::vector<std::uint32_t>;
using Bytes = std::vector<std::byte>;

// Two layers of keys and values, 4 tokens of 3 heads of 32 bytes in each of eight blocks.
class Ranges : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kLayers = 2, kPlanes = 2 * kLayers, kHeads = 3;
  static constexpr std::size_t kHead = 32, kMemory = 64_KiB;

  void SetUp() override {
    runtime_ = test::open_emulated(16_MiB, 4_MiB, true);
    stream_ = emulated::create_stream(*runtime_).value();
    cache_ = emulated::allocate(*runtime_, kMemory).value();
    other_ = emulated::allocate(*runtime_, kMemory).value();
    tensor_ = runtime_->allocate({.bytes = kMemory}).value();
    fill(cache_.data(), 1);
    fill(other_.data(), 2);
  }
  void TearDown() override {
    tensor_ = AquaTensor();
    EXPECT_TRUE(emulated::destroy_stream(*runtime_, stream_).ok());
  }
  static Layout layout(std::byte* base, const BlockAxes& axes, std::uint32_t blocks) {
    LayoutSpec spec{.layers = kLayers,
                    .planes_per_layer = 2,
                    .block_count = blocks,
                    .block_stride = axes.bytes(),
                    .axes = axes};
    for (unsigned p = 0; p < kPlanes; ++p) spec.planes.push_back(base + p * blocks * axes.bytes());
    return Layout::make(spec).value();
  }
  void fill(std::byte* base, unsigned seed) {
    run([=] {
      for (std::size_t i = 0; i < kMemory; ++i)
        emulated::kernel_view(base)[i] = static_cast<std::byte>((i * 2654435761U + seed) >> 7);
    });
  }
  [[nodiscard]] Bytes bytes_at(const std::byte* base) {
    Bytes seen(kMemory);
    run([&] { std::memcpy(seen.data(), emulated::kernel_view(base), kMemory); });
    return seen;
  }
  [[nodiscard]] Bytes kept() {
    const Pin pin = tensor_.pin(Access::read, stream_).value();
    Bytes seen(kMemory);
    run([&] { std::memcpy(seen.data(), emulated::kernel_view(pin.data()), kMemory); });
    return seen;
  }
  template <typename Work>
  void run(Work work) {
    ASSERT_TRUE(emulated::launch(*runtime_, stream_, work).ok());
    ASSERT_TRUE(emulated::synchronize(*runtime_, stream_).ok());
  }
  // Moved bytes.
  static std::size_t wait(Result<Ticket> ticket) {
    EXPECT_TRUE(ticket.ok()) << ticket.error().message;
    if (!ticket.ok()) return 0;
    EXPECT_TRUE(ticket->wait().ok());
    return ticket->bytes();
  }

  std::optional<Runtime> runtime_;
  Stream stream_;
  emulated::Memory cache_, other_;
  AquaTensor tensor_;
};

TEST_F(Ranges, AStepMovesItsTokenAndNoOtherByte) {
  const BlockAxes axes = BlockAxes::heads_first(4, kHeads, kHead);
  const Layout cache = layout(cache_.data(), axes, 8);
  const Blocks blocks{6, 1, 3}, places{0, 1, 2};
  const std::size_t block = axes.bytes();
  const Bytes source = bytes_at(cache_.data());
  {
    const Pin pin = tensor_.pin(Access::write, stream_).value();
    run([&] { std::memset(emulated::kernel_view(pin.data()), 0, kMemory); });
  }
  Bytes expected(kMemory);
  for (std::uint32_t token = 0; token < 11; ++token) {
    EXPECT_EQ(wait(runtime_->offload(cache, blocks, tensor_, {3, places}, stream_,
                                     {.tokens = {token, 1}})),
              kPlanes * kHeads * kHead);
    for (std::size_t p = 0; p < kPlanes; ++p) {
      for (std::size_t h = 0; h < kHeads; ++h) {
        const std::size_t within = (h * 4 + token % 4) * kHead;
        std::memcpy(&expected[cache.packed_offset(0, 0, p * 3 + token / 4, 3) + within],
                    &source[(p * 8 + blocks[token / 4]) * block + within], kHead);
      }
    }
    ASSERT_TRUE(kept() == expected) << "token " << token;
  }
  // What the steps have kept is the packed form of the blocks, but for a token that is to come.
  EXPECT_EQ(
      wait(runtime_->fetch(tensor_, layout(other_.data(), axes, 8), Blocks{0, 1, 2}, stream_)),
      cache.packed_bytes(3));
  const Bytes back = bytes_at(other_.data());
  EXPECT_EQ(std::memcmp(&back[0], &source[6 * block], block), 0);
  EXPECT_EQ(std::memcmp(&back[block], &source[block], block), 0);
}

TEST_F(Ranges, APromptThatEndsWithinABlockGoesToItsPagesAndBack) {
  const BlockAxes axes = BlockAxes::heads_first(4, kHeads, kHead);
  const Layout cache = layout(cache_.data(), axes, 8);
  const Blocks blocks{6, 1, 3, 0}, places{3, 0, 1, 2};
  const TensorPages pages{4, places};
  const KvRange prompt{.tokens = {3, 12}};  // parts of the first block and of the last one
  const Bytes source = bytes_at(cache_.data());
  const std::size_t bytes = cache.packed_bytes(4, prompt).value();
  EXPECT_EQ(wait(runtime_->offload(cache, blocks, tensor_, pages, stream_, prompt)), bytes);
  Bytes expected = bytes_at(other_.data());
  const Layout other = layout(other_.data(), axes, 8);
  auto back = runtime_->fetch(tensor_, pages, other, blocks, stream_, prompt);
  ASSERT_TRUE(back.ok()) << back.error().message;
  ASSERT_TRUE(back->wait().ok());
  EXPECT_TRUE(*back->layer_done(kLayers - 1)) << "of all parts";
  for (std::size_t p = 0; p < kPlanes; ++p) {
    for (std::uint32_t token = 3; token < 15; ++token) {
      for (std::size_t h = 0; h < kHeads; ++h) {
        const std::size_t at =
            (p * 8 + blocks[token / 4]) * axes.bytes() + (h * 4 + token % 4) * kHead;
        std::memcpy(&expected[at], &source[at], kHead);
      }
    }
  }
  EXPECT_TRUE(bytes_at(other_.data()) == expected);
}

TEST_F(Ranges, GoThroughATensorToAnEngineWithOtherBlocks) {
  const BlockAxes axes = BlockAxes::tokens_first(4, kHeads, kHead);
  const BlockAxes others = BlockAxes::runs_first(5, 2, 2, kHead / 2);  // of two heads
  const Layout cache = layout(cache_.data(), axes, 8);
  const Layout other = layout(other_.data(), others, 7);
  const Blocks blocks{6, 1, 3}, there{2, 5};
  const Bytes source = bytes_at(cache_.data());
  Bytes expected = bytes_at(other_.data());
  // The last layer's last two heads of tokens 2 to 9 become tokens 1 to 8 of the first layer.
  const KvRange from{{1, 1}, {2, 8}, {1, 2}};
  const KvRange to{{0, 1}, {1, 8}, {}};
  const std::size_t bytes = cache.packed_bytes(3, from).value();
  EXPECT_EQ(bytes, 2U * 8 * 2 * kHead);
  EXPECT_EQ(wait(runtime_->offload(cache, blocks, from, tensor_, stream_, 77)), bytes);
  auto fetched = runtime_->fetch(tensor_, other, there, to, stream_, 77);
  ASSERT_TRUE(fetched.ok()) << fetched.error().message;
  ASSERT_TRUE(fetched->wait().ok());
  EXPECT_TRUE(*fetched->layer_done(0)) << "the range's only layer";
  EXPECT_FALSE(fetched->layer_done(1).ok());
  for (std::size_t plane = 0; plane < 2; ++plane) {
    for (std::size_t t = 0; t < 8; ++t) {
      for (std::size_t h = 0; h < 2; ++h) {
        for (std::size_t i = 0; i < kHead; ++i) {
          const std::size_t src = ((2 + plane) * 8 + blocks[(2 + t) / 4]) * axes.bytes() +
                                  (((2 + t) % 4) * kHeads + 1 + h) * kHead + i;
          const std::size_t dst = (plane * 7 + there[(1 + t) / 5]) * others.bytes() +
                                  ((h * 2 + i / 16) * 5 + (1 + t) % 5) * 16 + i % 16;
          expected[dst] = source[src];
        }
      }
    }
  }
  EXPECT_TRUE(bytes_at(other_.data()) == expected);
}

TEST_F(Ranges, OfNoBlocksMoveNothing) {
  const Layout cache = layout(cache_.data(), BlockAxes::tokens_first(4, kHeads, kHead), 8);
  EXPECT_EQ(wait(runtime_->offload(cache, {}, KvRange{}, tensor_, stream_)), 0U);
  EXPECT_EQ(wait(runtime_->fetch(tensor_, {2, {}}, cache, {}, stream_)), 0U);
  EXPECT_EQ(wait(runtime_->fetch(tensor_, {2, {}}, cache, {}, stream_, {.heads = {1, 1}})), 0U);
}

TEST_F(Ranges, ThatTheBlocksDoNotHaveAreRefusedAndNothingMoves) {
  const Layout cache = layout(cache_.data(), BlockAxes::tokens_first(4, kHeads, kHead), 8);
  const Blocks blocks{6, 1}, places{0, 1};
  const Bytes before = kept();
  for (const KvRange& range : {KvRange{.tokens = {8, 1}}, KvRange{.tokens = {7, 2}},
                               KvRange{.layers = {2}}, KvRange{.heads = {0, 0}}}) {
    for (const bool paged : {false, true}) {
      const auto moved =
          paged ? runtime_->offload(cache, blocks, tensor_, {2, places}, stream_, range)
                : runtime_->offload(cache, blocks, range, tensor_, stream_);
      ASSERT_FALSE(moved.ok());
      EXPECT_EQ(moved.error().code, Code::invalid_argument);
    }
  }
  const auto past = runtime_->offload(cache, blocks, KvRange{}, tensor_, stream_, kMemory - 1);
  ASSERT_FALSE(past.ok());
  EXPECT_EQ(past.error().code, Code::invalid_argument);
  EXPECT_TRUE(kept() == before);
}

}  // namespace
}  // namespace aqua
