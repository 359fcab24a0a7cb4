// SPDX-License-Identifier: Apache-2.0
// What an engine says token by token as pieces, held to the positions that it tells.
#include "tools/router/decide/piece.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aqua::router {
namespace {

using ::testing::HasSubstr;

TEST(PieceMaker, JoinsTokensUntilTheirTextIsWhole) {
  PieceMaker maker(3, 10);
  EXPECT_FALSE(maker.feed({1}, 1, "", "").value());
  const auto joined = maker.feed({2}, 1, "\xc3\xa9", "").value();
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->turn, 3u);
  EXPECT_EQ(joined->position, 10u);
  EXPECT_EQ(joined->ids, (std::vector<TokenId>{1, 2}));
  EXPECT_TRUE(joined->whole());
  const auto last = maker.feed({}, 1, "", "stop").value();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->position, 12u);
  EXPECT_FALSE(last->whole()) << "a token without its id";
}

TEST(PieceMaker, TakesTheNextPositionOfItsAttemptAlone) {
  const std::tuple<Place, std::uint64_t, const char*> wrong[] = {
      {{3, 11}, 1, "position 11 under turn 3 again; 12 under turn 3 is to come"},
      {{3, 0}, 1, "position 0 under turn 3 again"},
      {{3, 13}, 1, "12 is missing"},
      {{3, 11}, 2, "some have passed"},
      {{2, 12}, 1, "under turn 2 again"},
      {{4, 12}, 1, "the last that was given is 3"},
      {{3, 12}, UINT64_MAX, "positions at once"}};
  for (const auto& [place, count, why] : wrong) {
    PieceMaker maker(3, 10);
    EXPECT_TRUE(maker.feed({1}, 1, "a", "", Place{3, 10}).value());
    EXPECT_FALSE(maker.feed({2}, 1, "", "", Place{3, 11}).value()) << "its text comes later";
    const auto refused = maker.feed({5}, count, "b", "", place);
    ASSERT_FALSE(refused.ok()) << why;
    EXPECT_EQ(refused.error().code, Code::data_loss);
    EXPECT_THAT(refused.error().message, HasSubstr(why));
    const auto next = maker.feed({3}, 1, "c", "stop", Place{3, 12}).value();
    ASSERT_TRUE(next) << "what was refused has changed nothing";
    EXPECT_EQ(next->position, 11u);
    EXPECT_EQ(next->ids, (std::vector<TokenId>{2, 3}));
  }
}

TEST(PieceMaker, WhoTellsPositionsTellsThemOfEveryToken) {
  PieceMaker maker(3, 10);
  EXPECT_TRUE(maker.feed({1}, 1, "a", "").value());
  EXPECT_TRUE(maker.feed({2}, 1, "b", "", Place{3, 11}).value()) << "counted so far, and right";
  EXPECT_TRUE(maker.feed({}, 0, "c", "").value()) << "text alone has no position";
  const auto refused = maker.feed({3}, 1, "d", "");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("without its position"));
}

}  // namespace
}  // namespace aqua::router
