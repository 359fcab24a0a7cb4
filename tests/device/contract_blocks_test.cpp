// SPDX-License-Identifier: Apache-2.0
// The device contract, part four: copies by the numbers of blocks.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/device/contract.hpp"

namespace aqua::device {
namespace {

constexpr std::size_t kArea = 128_KiB;

class DeviceBlocks : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (device_ == nullptr) return;
    from_ = make_place(*device_, grain_);
    to_ = make_place(*device_, grain_);
  }
  [[nodiscard]] std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(random_() % n);
  }
  // Disjoint pieces within kArea bytes from `base` on, half of the blocks of each plane. Those of
  // whole words lie on whole words, as bulk copies want them.
  [[nodiscard]] BlockEnd end_in(std::byte* base, const BlockCopy& copy, std::size_t planes) {
    const std::size_t unit = copy.piece_bytes % 16 == 0 ? 16 : 1;
    const std::size_t step = copy.piece_bytes + unit * below(3);
    BlockEnd end;
    const bool transposed = below(2) == 0;
    end.inner_stride = transposed ? step * copy.outer : step;
    end.outer_stride = transposed ? step : step * copy.inner;
    end.block_stride = step * copy.outer * copy.inner + unit * below(3);
    end.ids.resize(std::size_t{2} * copy.blocks);
    std::iota(end.ids.begin(), end.ids.end(), 0U);
    std::shuffle(end.ids.begin(), end.ids.end(), random_);
    end.ids.resize(copy.blocks);
    const std::size_t pitch = 2 * copy.blocks * end.block_stride + unit * below(100);
    for (std::size_t p = 0; p < planes; ++p) end.planes.push_back(base + p * pitch);
    EXPECT_LE(planes * pitch, kArea);
    return end;
  }
  // Large pieces, of which a kernel may make bulk copies: fewer, of 2 to 5 KiB.
  [[nodiscard]] BlockCopy some_blocks(bool large = false) {
    BlockCopy copy;
    copy.blocks = 1 + below(large ? 2 : 8);
    copy.outer = 1 + below(large ? 2 : 3);
    copy.inner = large ? 1 : 1 + below(3);
    copy.piece_bytes = large ? 2_KiB + std::size_t{16} * below(192) : 1 + below(200);
    const std::size_t planes = 1 + below(large ? 2 : 4);
    const std::uint32_t lines = below(3);  // at neither side, the one or the other
    if (lines != 1) copy.src = end_in(from_.base(), copy, planes);
    if (lines != 2) copy.dst = end_in(to_.base(), copy, planes);
    return copy;
  }
  Place from_, to_;
  std::mt19937 random_{7};
};
AQUA_CONTRACT_SUITE(DeviceBlocks);

// The formula of block_copy.hpp, read literally; the areas are images of the two places.
void move_naively(const BlockCopy& copy, const PieceRange& range, const std::byte* from,
                  const std::vector<std::byte>& source, const std::byte* to,
                  std::vector<std::byte>& target) {
  std::size_t piece = 0;
  for (std::size_t p = 0; p < copy.planes(); ++p) {
    for (std::size_t i = 0; i < copy.blocks; ++i) {
      for (std::size_t o = 0; o < copy.outer; ++o) {
        for (std::size_t n = 0; n < copy.inner; ++n, ++piece) {
          if (piece < range.first || piece >= range.first + range.count) continue;
          const auto at = [&](const BlockEnd& end) -> const std::byte* {
            if (end.planes.empty()) return range.line + (piece - range.first) * copy.piece_bytes;
            return end.planes[p] + end.ids[i] * end.block_stride + o * end.outer_stride +
                   n * end.inner_stride;
          };
          std::memcpy(&target[static_cast<std::size_t>(at(copy.dst) - to)],
                      &source[static_cast<std::size_t>(at(copy.src) - from)], copy.piece_bytes);
        }
      }
    }
  }
}

TEST_P(DeviceBlocks, TheirPiecesMoveAsTheyWouldOneByOne) {
  const auto source = pattern(kArea, 1);
  upload(*device_, from_.base(), source);
  const Stream stream = device_->create_stream().value();
  for (std::uint32_t round = 0; round < 40; ++round) {
    const auto copy = std::make_shared<const BlockCopy>(some_blocks(round % 4 == 0));
    auto target = pattern(kArea, 2 + round);
    upload(*device_, to_.base(), target);
    // In two parts, with pieces before and after them that stay.
    PieceRange first{.first = below(static_cast<std::uint32_t>(copy->pieces()))};
    first.count = 1 + below(static_cast<std::uint32_t>(copy->pieces() - first.first));
    PieceRange second{.first = first.first + first.count / 2};
    second.count = first.count - first.count / 2;
    first.count /= 2;
    std::byte* const line = copy->src.planes.empty() ? from_.base() + 5 : to_.base() + 3;
    first.line = line;
    second.line = line + first.count * copy->piece_bytes;
    const CopyOptions options{.method = static_cast<CopyMethod>(round % 3), .max_sms = 2};
    auto table = device_->prepare_blocks(copy).value();
    if (first.count > 0) {
      EXPECT_OK(device_->copy_blocks(*table, first, stream, options));
    }
    EXPECT_OK(device_->copy_blocks(*table, second, stream, options));
    table.reset();  // its copies may still run
    EXPECT_OK(finish(*device_, stream));
    for (const PieceRange& range : {first, second})
      move_naively(*copy, range, from_.base(), source, to_.base(), target);
    ASSERT_TRUE(download(*device_, to_.base(), kArea) == target) << "round " << round;
  }
  EXPECT_OK(device_->destroy_stream(stream));
}

TEST_P(DeviceBlocks, ATableMayServeManyCopiesAndMoveNothing) {
  const auto before = pattern(kArea, 3);
  upload(*device_, to_.base(), before);
  const auto unused = device_->prepare_blocks(std::make_shared<BlockCopy>(some_blocks()));
  EXPECT_OK(unused);
  BlockCopy whole{.blocks = 4, .piece_bytes = 1'000};
  whole.src = {.planes = {from_.base()}, .block_stride = 1'000};
  auto table = device_->prepare_blocks(std::make_shared<BlockCopy>(whole)).value();
  const auto cancel = std::make_shared<std::atomic<bool>>(true);
  EXPECT_OK(device_->copy_blocks(*table, {0, 4, to_.base()}, {}, {.cancel = cancel}));
  EXPECT_OK(finish(*device_, {}));
  EXPECT_TRUE(download(*device_, to_.base(), kArea) == before);
}

TEST_P(DeviceBlocks, WhatIsMalformedIsRefusedAndNothingIsQueued) {
  const auto before = pattern(kArea, 4);
  upload(*device_, to_.base(), before);
  const BlockCopy good{.dst = {},
                       .src = {.planes = {from_.base()}, .ids = {1, 0}, .block_stride = 64},
                       .blocks = 2,
                       .piece_bytes = 64};
  const auto refused = [&](auto spoil) {
    BlockCopy bad = good;
    spoil(bad);
    EXPECT_CODE(Code::invalid_argument, device_->prepare_blocks(std::make_shared<BlockCopy>(bad)));
  };
  EXPECT_CODE(Code::invalid_argument, device_->prepare_blocks(nullptr));
  refused([](BlockCopy& c) { c.blocks = 0; });
  refused([](BlockCopy& c) { c.outer = 0; });
  refused([](BlockCopy& c) { c.piece_bytes = 0; });
  refused([](BlockCopy& c) { c.src.planes.clear(); });
  refused([](BlockCopy& c) { c.src.planes = {nullptr}; });
  refused([](BlockCopy& c) { c.src.ids = {1}; });
  refused([](BlockCopy& c) { c.src.block_stride = SIZE_MAX; });
  refused([](BlockCopy& c) { c.src.inner_stride = SIZE_MAX, c.inner = 2; });
  refused([](BlockCopy& c) { c.outer = c.inner = UINT32_MAX, c.piece_bytes = 16; });
  refused([&](BlockCopy& c) { c.dst.planes = {to_.base(), to_.base() + 512}; });

  auto table = device_->prepare_blocks(std::make_shared<BlockCopy>(good)).value();
  for (const PieceRange range :
       {PieceRange{0, 0, to_.base()}, PieceRange{0, 3, to_.base()}, PieceRange{2, 1, to_.base()},
        PieceRange{1, SIZE_MAX, to_.base()}, PieceRange{0, 2, nullptr}}) {
    EXPECT_CODE(Code::invalid_argument, device_->copy_blocks(*table, range, {}));
  }
  EXPECT_OK(finish(*device_, {}));
  EXPECT_TRUE(download(*device_, to_.base(), kArea) == before);
}

}  // namespace
}  // namespace aqua::device
