// SPDX-License-Identifier: Apache-2.0
// The arithmetic by which a copy is divided.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "kernels/copy_piece.hpp"
#include "kernels/copy_shape.hpp"

namespace aqua::kernels {
namespace {

TEST(Describe, SumsUpAndSaysWhereSegmentsBegin) {
  std::array<Segment, 3> list{
      {{nullptr, nullptr, 5}, {nullptr, nullptr, 0}, {nullptr, nullptr, 9}}};
  const CopyLaunch launch = describe(list);
  EXPECT_EQ(launch.segments, list.data());
  EXPECT_EQ(launch.count, 3U);
  EXPECT_EQ(launch.total_bytes, 14U);
  EXPECT_EQ(launch.largest_bytes, 9U);
  EXPECT_EQ(list[1].before, 5U);
  EXPECT_EQ(list[2].before, 5U);
}

TEST(Cut, LiesOnALineOfTheDestination) {
  EXPECT_EQ(cut(0x1000, 4096, 100, 100 + 1000), 896U);
  EXPECT_EQ(cut(0x1010, 4096, 100, 100 + 1000), 1000U - (0x1010 + 1000) % 128);
}

TEST(Cut, IsTheWholeSegmentOrNothingOfItOutside) {
  EXPECT_EQ(cut(0x1003, 50, 100, 0), 0U);
  EXPECT_EQ(cut(0x1003, 50, 100, 100), 0U);
  EXPECT_EQ(cut(0x1003, 50, 100, 150), 50U);
  EXPECT_EQ(cut(0x1003, 50, 100, 1000), 50U);
}

TEST(Cut, NeverGoesBackAsThePlaceGoesOn) {
  for (std::uint64_t dst = 0x1000; dst < 0x1000 + 128; ++dst) {
    for (std::uint64_t place = 0; place < 700; ++place) {
      ASSERT_LE(cut(dst, 600, 50, place), cut(dst, 600, 50, place + 1));
    }
  }
}

TEST(Split, LeavesHeadAndTailShorterThanAWord) {
  for (const std::uint64_t word : {1U, 2U, 4U, 8U, 16U}) {
    for (std::uint64_t dst = 0; dst < 16; ++dst) {
      for (std::uint64_t bytes = 0; bytes < 100; ++bytes) {
        const Split parts = split(dst, bytes, word);
        ASSERT_EQ(parts.head + parts.body + parts.tail, bytes);
        ASSERT_LT(parts.head, word);
        ASSERT_LT(parts.tail, word);
        ASSERT_EQ(parts.body % word, 0U);
        if (parts.body != 0) {
          ASSERT_EQ((dst + parts.head) % word, 0U);
        }
      }
    }
  }
}

constexpr std::uint64_t kSizes[] = {1,       16,       1000,       4096,
                                    1 << 20, 77777777, 1ULL << 30, (1ULL << 40) + 1};

void expect_covers(const Shape& shape, std::uint64_t bytes) {
  ASSERT_GT(shape.ctas, 0U);
  const auto warps = std::uint64_t{shape.ctas} * shape.warps;
  EXPECT_GE(warps * shape.share_bytes, bytes);
  // and no CTA is idle
  EXPECT_LT((std::uint64_t{shape.ctas} - 1) * shape.warps * shape.share_bytes, bytes);
}

TEST(VectorShape, CoversTheLineAndKeepsToItsBudget) {
  for (const std::uint64_t bytes : kSizes) {
    for (const unsigned max_sms : {0U, 1U, 4U, 16U, 131U}) {
      SCOPED_TRACE(::testing::Message() << bytes << " bytes, " << max_sms << " SMs");
      const Shape shape = vector_shape(bytes, 132, max_sms);
      expect_covers(shape, bytes);
      EXPECT_LE(shape.warps * kLanes, 512U);
      if (max_sms != 0) {
        EXPECT_LE(shape.ctas, max_sms);
      }
    }
  }
}

TEST(VectorShape, ABudgetOfAllSmsIsNone) {
  EXPECT_EQ(vector_shape(1 << 30, 132, 132).ctas, vector_shape(1 << 30, 132, 0).ctas);
}

TEST(VectorShape, ASmallCopyStillReachesManySms) {
  EXPECT_GE(vector_shape(4 << 20, 132, 0).ctas, 128U);
}

TEST(BulkShape, CoversTheLineAndKeepsToItsBudget) {
  for (const std::uint64_t bytes : kSizes) {
    for (const unsigned max_sms : {0U, 1U, 4U, 16U, 1000U}) {
      SCOPED_TRACE(::testing::Message() << bytes << " bytes, " << max_sms << " SMs");
      const Shape shape = bulk_shape(bytes, 132, max_sms, 4);
      expect_covers(shape, bytes);
      EXPECT_LE(shape.ctas, max_sms == 0 ? 132U : max_sms);
      EXPECT_EQ(shape.share_bytes % kStageBytes, 0U);
    }
  }
}

TEST(BulkWarps, AreTwoWhereSharedMemoryHoldsThem) {
  EXPECT_EQ(bulk_warps(227 * 1024), 2U);  // sm_90, sm_100
  EXPECT_EQ(bulk_warps(99 * 1024), 2U);   // sm_120
  EXPECT_EQ(bulk_warps(48 * 1024), 0U);
  EXPECT_LT(2 * sizeof(RingMemory), 227 * 1024 / 2);
  EXPECT_EQ(kStages, 12U);
  EXPECT_EQ(kAhead, 9U);
  EXPECT_EQ(sizeof(RingMemory), 49'536U);
}

}  // namespace
}  // namespace aqua::kernels
