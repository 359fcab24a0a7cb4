// SPDX-License-Identifier: Apache-2.0
// Blocks that go to pages of a tensor, and come back to other blocks.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "tests/base/open_emulated.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using Blocks = std::vector<std::uint32_t>;

// Two layers of two planes, eight blocks of 4 KiB each.
class Pages : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kBlocks = 8;
  static constexpr std::size_t kBlock = 4_KiB;

  void SetUp() override {
    runtime_ = test::open_emulated(16_MiB, 4_MiB, true);
    stream_ = emulated::create_stream(*runtime_).value();
    memory_ = emulated::allocate(*runtime_, 4 * kBlocks * kBlock).value();
    LayoutSpec spec{.layers = 2,
                    .planes_per_layer = 2,
                    .block_count = kBlocks,
                    .block_stride = kBlock,
                    .axes = BlockAxes::whole(kBlock)};
    for (unsigned p = 0; p < 4; ++p) spec.planes.push_back(memory_.data() + p * kBlocks * kBlock);
    layout_.emplace(Layout::make(spec).value());
    tensor_ = runtime_->allocate({.bytes = 100 + 4 * 5 * kBlock}).value();
  }
  void TearDown() override {
    tensor_ = AquaTensor();
    EXPECT_TRUE(emulated::destroy_stream(*runtime_, stream_).ok());
  }
  [[nodiscard]] TensorPages pages(const Blocks& list) const { return {5, list, 100}; }
  void each(const std::function<void(std::byte* block, unsigned plane, std::uint32_t b)>& act) {
    ASSERT_TRUE(emulated::launch(*runtime_, stream_, [&] {
                  for (unsigned p = 0; p < 4; ++p) {
                    for (std::uint32_t b = 0; b < kBlocks; ++b) {
                      act(emulated::kernel_view(memory_.data() + (p * kBlocks + b) * kBlock), p, b);
                    }
                  }
                }).ok());
    ASSERT_TRUE(emulated::synchronize(*runtime_, stream_).ok());
  }
  static int mark(unsigned plane, std::uint32_t block, unsigned round) {
    return static_cast<int>(1 + plane * 8 + block + round * 100);
  }
  void fill(unsigned round) {
    each([=](std::byte* at, unsigned p, std::uint32_t b) {
      std::memset(at, mark(p, b, round), kBlock);
    });
  }
  // Which block's bytes of which round each block has: block + 10 * round; -1: mixed.
  [[nodiscard]] std::vector<int> held() {
    std::vector<int> all(kBlocks, -2);
    each([&](std::byte* at, unsigned p, std::uint32_t b) {
      const int value = std::to_integer<int>(at[0]);
      int found = -1;
      for (unsigned round = 0; round < 2; ++round) {
        for (std::uint32_t of = 0; of < kBlocks; ++of) {
          if (value == mark(p, of, round)) found = static_cast<int>(of + 10 * round);
        }
      }
      for (std::size_t i = 0; i < kBlock; ++i) {
        if (std::to_integer<int>(at[i]) != value) found = -1;
      }
      if (all[b] == -2) all[b] = found;
      if (all[b] != found) all[b] = -1;
    });
    return all;
  }

  std::optional<Runtime> runtime_;
  Stream stream_;
  emulated::Memory memory_;
  std::optional<Layout> layout_;
  AquaTensor tensor_;
};

TEST_F(Pages, BlocksGoWhereTheirPagesAreAndOtherPagesKeepTheirBytes) {
  fill(0);
  ASSERT_TRUE(
      runtime_->offload(*layout_, Blocks{5, 1, 6}, tensor_, pages({0, 2, 4}), stream_).ok());
  ASSERT_TRUE(runtime_->offload(*layout_, Blocks{7}, tensor_, pages({2}), stream_).ok());
  fill(1);
  auto back = runtime_->fetch(tensor_, pages({4, 0, 2}), *layout_, Blocks{2, 3, 0}, stream_);
  ASSERT_TRUE(back.ok()) << back.error().message;
  ASSERT_TRUE(back->wait().ok());
  EXPECT_EQ(held(), (std::vector<int>{7, 11, 6, 5, 14, 15, 16, 17}));
}

TEST_F(Pages, ThatCannotBeAreRefusedAndNothingMoves) {
  fill(0);
  const auto refused = [&](const Blocks& blocks, const TensorPages& to) {
    for (const bool out : {true, false}) {
      const auto moved = out ? runtime_->offload(*layout_, blocks, tensor_, to, stream_)
                             : runtime_->fetch(tensor_, to, *layout_, blocks, stream_);
      ASSERT_FALSE(moved.ok());
      EXPECT_EQ(moved.error().code, Code::invalid_argument) << moved.error().message;
    }
  };
  const Blocks list{1, 2}, two{0, 1}, same{3, 3}, past{0, 5}, one{0};
  refused(list, pages(one));
  refused(list, pages(same));
  refused(list, pages(past));
  refused(same, pages(two));
  refused(list, {0, two, 0});
  refused(list, {5, two, 101});
  refused(list, {UINT32_MAX, two, 0});
  AquaTensor none;
  EXPECT_EQ(runtime_->offload(*layout_, list, none, pages(two), stream_).error().code,
            Code::failed_precondition);
  EXPECT_EQ(held(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace aqua
