// SPDX-License-Identifier: Apache-2.0
// Each position passes once, in order, from whoever's turn it is.
#include "aqua/migration/stream_filter.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/systems/migration/naive_stream.hpp"

namespace aqua::migration::test {
namespace {

TEST(StreamFilter, PassesEachPositionOnce) {
  StreamFilter stream;
  EXPECT_EQ(*stream.take(1, 0), Passes::yes);
  EXPECT_EQ(*stream.take(1, 1), Passes::yes);
  EXPECT_EQ(*stream.take(1, 1), Passes::duplicate);
  EXPECT_EQ(*stream.take(1, 0), Passes::duplicate);
  EXPECT_EQ(stream.next(), 2U);
}

TEST(StreamFilter, DropsWhatComesUnderAnOldTurnBeItMissingOrNot) {
  StreamFilter stream;
  ASSERT_EQ(*stream.take(1, 0), Passes::yes);
  EXPECT_EQ(stream.raise(), 2U);
  EXPECT_EQ(*stream.take(1, 1), Passes::late);
  EXPECT_EQ(*stream.take(1, 7), Passes::late);
  EXPECT_EQ(*stream.take(2, 0), Passes::duplicate) << "the new one repeats what it has";
  EXPECT_EQ(*stream.take(2, 1), Passes::yes);
}

TEST(StreamFilter, AGapIsAnErrorAndChangesNothing) {
  StreamFilter stream(3, 5);
  const StreamFilter before = stream;
  const auto gap = stream.take(3, 6);
  ASSERT_FALSE(gap.ok());
  EXPECT_EQ(gap.error().code, Code::aborted);
  EXPECT_EQ(gap.error().message, "stream: position 6 under turn 3, 5 is missing");
  EXPECT_EQ(stream, before);
  EXPECT_EQ(*stream.take(3, 5), Passes::yes);
}

TEST(StreamFilter, ATurnThatWasNotGivenIsRefused) {
  StreamFilter stream;
  const auto forged = stream.take(2, 0);
  ASSERT_FALSE(forged.ok());
  EXPECT_EQ(forged.error().code, Code::permission_denied);
  EXPECT_EQ(stream, StreamFilter());
}

TEST(StreamFilter, PositionsThatComeTogetherPassTogetherOrNotAtAll) {
  StreamFilter stream(1, 4);
  EXPECT_EQ(*stream.take(1, 4, 3), Passes::yes);
  EXPECT_EQ(stream.next(), 7U);
  EXPECT_EQ(*stream.take(1, 5, 2), Passes::duplicate);
  EXPECT_EQ(*stream.take(1, 7, 0), Passes::yes) << "an end without a token";
  const StreamFilter before = stream;
  const auto overlapping = stream.take(1, 6, 2);
  ASSERT_FALSE(overlapping.ok());
  EXPECT_EQ(overlapping.error().code, Code::aborted);
  EXPECT_EQ(overlapping.error().message,
            "stream: 2 positions from 6 on under turn 1, of which some have passed");
  const auto endless = stream.take(1, 7, UINT64_MAX - 6);
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().code, Code::invalid_argument);
  EXPECT_EQ(stream, before);
}

TEST(StreamFilter, SaysTheSameAsItsNaiveTwin) {
  std::size_t passed = 0, dropped = 0, refused = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    StreamFilter stream;
    NaiveStream naive;
    for (int i = 0; i < 300; ++i) {
      if (random() % 20 == 0) {
        ASSERT_EQ(stream.raise(), naive.raise());
      }
      const Turn turn = stream.turn() + 1 - std::min<Turn>(random() % 4, stream.turn());
      const Position near = stream.next() + random() % 4;
      const Position position = near - std::min<Position>(random() % 3, near);
      const std::uint64_t count = random() % 4;
      const auto told = stream.take(turn, position, count);
      const auto [passes, code] = naive.take(turn, position, count);
      ASSERT_EQ(told.ok(), code == Code::internal);
      if (told.ok()) {
        ASSERT_EQ(*told, passes);
        (passes == Passes::yes ? passed : dropped) += 1;
      } else {
        ASSERT_EQ(told.error().code, code);
        refused += 1;
      }
      ASSERT_EQ(stream.next(), naive.next());
    }
  }
  EXPECT_GT(passed, 2000U);
  EXPECT_GT(dropped, 2000U);
  EXPECT_GT(refused, 2000U);
}

}  // namespace
}  // namespace aqua::migration::test
