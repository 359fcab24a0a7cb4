// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/copy_cuts.hpp"

#include <gtest/gtest.h>

#include <random>

namespace aqua::device {
namespace {

// Addresses that are only compared, never followed.
std::byte* at(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}

struct Piece {
  std::uintptr_t dst, src;
  std::size_t bytes;
  friend bool operator==(const Piece&, const Piece&) = default;
};

std::vector<Piece> runs_of(const std::vector<Piece>& batch,
                           const std::vector<std::uintptr_t>& cuts) {
  std::vector<CopySegment> segments;
  for (const Piece& run : batch) segments.push_back({at(run.dst), at(run.src), run.bytes});
  std::vector<CopySegment> made{{at(1), at(1), 1}};  // what an earlier batch has left
  std::vector<Piece> out;
  for (const CopySegment& s : cut_segments(segments, cuts, made)) {
    out.push_back({reinterpret_cast<std::uintptr_t>(s.dst), reinterpret_cast<std::uintptr_t>(s.src),
                   s.bytes});
  }
  return out;
}

TEST(CopyCuts, WhatNeedsNoCutIsTheBatchItself) {
  const std::vector<CopySegment> batch{{at(100), at(500), 10}, {at(110), at(510), 20}};
  std::vector<CopySegment> room;
  const std::vector<std::uintptr_t> cuts{90, 110, 530};
  EXPECT_EQ(cut_segments(batch, {}, room).data(), batch.data());
  EXPECT_EQ(cut_segments(batch, cuts, room).data(), batch.data());
  EXPECT_TRUE(room.empty());
}

TEST(CopyCuts, SegmentsOfNoBytesVanish) {
  EXPECT_TRUE(runs_of({{0, 0, 0}, {0, 0, 0}}, {}).empty());
  EXPECT_EQ(runs_of({{0, 0, 0}, {100, 500, 10}, {0, 0, 0}, {110, 510, 5}}, {}),
            (std::vector<Piece>{{100, 500, 10}, {110, 510, 5}}));
}

TEST(CopyCuts, NoRunCrossesACutOnEitherSide) {
  EXPECT_EQ(runs_of({{100, 500, 100}}, {120, 550}),
            (std::vector<Piece>{{100, 500, 20}, {120, 520, 30}, {150, 550, 50}}));
  EXPECT_EQ(runs_of({{100, 500, 100}}, {100, 200, 500, 600}), (std::vector<Piece>{{100, 500, 100}}))
      << "a cut at either end of a run is none";
  EXPECT_EQ(runs_of({{100, 500, 10}, {110, 510, 10}}, {110}).size(), 2U);
}

TEST(CopyCuts, EveryByteGoesWhereItWouldHaveGone) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<Piece> batch;
    std::uintptr_t dst = 1'000;
    std::uintptr_t src = 9'000;
    for (int i = 0; i < 12; ++i) {
      const std::size_t bytes = random() % 40;
      batch.push_back({dst, src, bytes});
      dst += bytes + (random() % 3 == 0 ? random() % 5 : 0);
      src += bytes + (random() % 3 == 0 ? random() % 5 : 0);
    }
    std::vector<std::uintptr_t> cuts;
    for (std::uintptr_t cut = 1'000; cut < 10'000; cut += 1 + random() % 90) cuts.push_back(cut);
    const auto bytes_of = [](const std::vector<Piece>& list) {
      std::vector<std::pair<std::uintptr_t, std::uintptr_t>> bytes;
      for (const Piece& run : list) {
        for (std::size_t i = 0; i < run.bytes; ++i) bytes.emplace_back(run.dst + i, run.src + i);
      }
      return bytes;
    };
    const auto runs = runs_of(batch, cuts);
    ASSERT_EQ(bytes_of(runs), bytes_of(batch)) << round;
    for (const Piece& run : runs) {
      for (const std::uintptr_t cut : cuts) {
        ASSERT_FALSE(run.dst < cut && cut < run.dst + run.bytes) << round;
        ASSERT_FALSE(run.src < cut && cut < run.src + run.bytes) << round;
      }
    }
  }
}

}  // namespace
}  // namespace aqua::device
