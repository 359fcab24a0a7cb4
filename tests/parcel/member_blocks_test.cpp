// SPDX-License-Identifier: Apache-2.0
#include "parcel/member_blocks.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/base/code_of.hpp"

namespace aqua {
namespace {

TEST(MemberBlocks, GivesOutWhatIsIdleAndTakesItBack) {
  MemberBlocks mine(16);
  EXPECT_EQ(code_of(mine.allocate(1)), "resource_exhausted");
  mine.idle({3, 4, 5, 6});
  EXPECT_EQ(mine.allocate(2).value(), (Blocks{3, 4}));
  EXPECT_EQ(code_of(mine.allocate(3)), "resource_exhausted");
  EXPECT_EQ(mine.idle_blocks(), 2U);
  EXPECT_EQ(mine.used_blocks(), 2U);
  const auto released = mine.release(Blocks{4}).value();
  EXPECT_EQ(released.own, Blocks{4});
  EXPECT_EQ(mine.idle_blocks(), 2U) << "work may be left on it";
  mine.idle(released.own);
  EXPECT_EQ(mine.allocate(1).value(), Blocks{4}) << "the last one first";
  EXPECT_EQ(mine.surplus(1), Blocks{6});
  EXPECT_EQ(mine.idle_blocks(), 1U);
}

TEST(MemberBlocks, RefusesWhatIsNotItsOwnAndChangesNothing) {
  MemberBlocks mine(8);
  mine.idle({0, 1, 2});
  const Blocks own = mine.allocate(2).value();
  for (const Blocks& list : {Blocks{own[0], own[0]}, Blocks{own[0], 2}, Blocks{own[0], 7},
                             Blocks{own[0], 8}, Blocks{~std::uint32_t{0}}}) {
    EXPECT_EQ(code_of(mine.release(list)), "invalid_argument");
    EXPECT_EQ(code_of(mine.share(list)), "invalid_argument");
    EXPECT_EQ(code_of(mine.hand_over({.id = "r", .blocks = list}, "d")), "invalid_argument");
  }
  EXPECT_EQ(code_of(mine.hand_over({.id = "", .blocks = own}, "d")), "invalid_argument");
  EXPECT_EQ(code_of(mine.hand_over({.id = "r", .blocks = own}, "")), "invalid_argument");
  EXPECT_EQ(code_of(mine.finish(1)), "not_found");
  EXPECT_EQ(mine.used_blocks(), 2U);
  EXPECT_EQ(mine.release(own)->own, own);
}

TEST(MemberBlocks, HasWhatWasHandedOverNoMoreUnlessItIsUndone) {
  MemberBlocks mine(8);
  mine.idle({0, 1, 2, 3});
  const Blocks own = mine.allocate(2).value();
  mine.taken({.number = 9, .id = "r", .turn = 1, .blocks = {6, 7}});
  const Parcel on{.id = "r", .turn = 2, .blocks = {6, 7, own[0], own[1]}};
  const auto handed = mine.hand_over(on, "d").value();
  EXPECT_EQ(handed.own, own);
  EXPECT_EQ(mine.used_blocks(), 0U);
  EXPECT_EQ(mine.parcels(), 0U) << "the one of the same id ended by it";
  EXPECT_EQ(code_of(mine.finish(9)), "not_found");
  EXPECT_EQ(code_of(mine.release(own)), "invalid_argument");
  mine.undo(handed);
  EXPECT_EQ(mine.used_blocks(), 2U);
  EXPECT_TRUE(mine.finish(9).ok());
  EXPECT_EQ(mine.release(own)->own, own);
}

TEST(MemberBlocks, CountsHowOftenItHasWhatIsShared) {
  MemberBlocks mine(8);
  mine.idle({0, 1});
  const Blocks prefix = mine.allocate(1).value();
  ASSERT_TRUE(mine.share(prefix).ok());
  ASSERT_TRUE(mine.share(prefix).ok());
  EXPECT_TRUE(mine.hand_over({.id = "a", .blocks = prefix}, "d").ok());
  EXPECT_TRUE(mine.hand_over({.id = "b", .blocks = prefix}, "d").ok());
  EXPECT_EQ(mine.release(prefix)->shared, prefix);
  EXPECT_EQ(mine.release(prefix)->shared, prefix);
  EXPECT_EQ(code_of(mine.release(prefix)), "invalid_argument");
}

TEST(MemberBlocks, HasWhatIsSharedAsOftenAsBeforeOnceAParcelIsRecalled) {
  PoolBook book(8);
  ASSERT_TRUE(book.join(1, "any").ok());
  MemberBlocks mine(8);
  mine.idle(book.grant(1, 2).value());
  const Blocks blocks = mine.allocate(2).value(), prefix{blocks[0]};
  ASSERT_TRUE(mine.share(prefix).ok());
  ASSERT_TRUE(book.share(1, prefix).ok());
  const PoolCounts before = book.counts();
  const Parcel parcel{.id = "r", .turn = 1, .blocks = blocks};
  const auto handed = mine.hand_over(parcel, "any").value();
  ASSERT_TRUE(book.recall(1, book.offer(1, "any", parcel).value()).ok());
  mine.undo(handed);
  EXPECT_EQ(MemberBlocks::shared_in(handed), prefix);
  ASSERT_TRUE(book.give_back(1, MemberBlocks::shared_in(handed)).ok());
  EXPECT_EQ(book.counts(), before);
  EXPECT_TRUE(mine.release(prefix).ok());
  EXPECT_EQ(code_of(mine.release(prefix)), "invalid_argument") << "had once";
  EXPECT_TRUE(book.give_back(1, prefix).ok());
  EXPECT_EQ(book.counts().shared, 0U) << "and so the keeper says";
}

// Three members and the keeper's record. Whatever a member lets its engine do, the record takes.
TEST(MemberBlocks, WhatItAllowsTheKeeperAllowsToo) {
  std::mt19937_64 random(11);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int allowed = 0;
  for (int life = 0; life < 30; ++life) {
    constexpr std::uint32_t kBlocks = 12;
    PoolBook book(kBlocks);
    std::vector<MemberBlocks> members(3, MemberBlocks(kBlocks));
    std::vector<std::vector<std::uint64_t>> taken(3);
    for (MemberNumber m = 1; m <= 3; ++m) ASSERT_TRUE(book.join(m, "any").ok());
    for (int step = 0; step < 5000; ++step) {
      const std::size_t i = below(3);
      const MemberNumber m = i + 1;
      MemberBlocks& mine = members[i];
      Blocks list;
      for (std::size_t n = 1 + below(3); n > 0; --n) {
        list.push_back(static_cast<std::uint32_t>(below(kBlocks)));
      }
      switch (below(7)) {
        case 0:
          mine.idle(book.grant(m, 2).value());
          break;
        case 1:
          (void)mine.allocate(1 + below(2));
          break;
        case 2:
          if (const auto released = mine.release(list); released.ok()) {
            ++allowed;
            mine.idle(released->own);
            ASSERT_TRUE(book.give_back(m, released->shared).ok());
            ASSERT_TRUE(book.give_back(m, mine.surplus(below(4))).ok());
          }
          break;
        case 3:
          if (mine.share(list).ok()) {
            ++allowed;
            ASSERT_TRUE(book.share(m, list).ok());
          }
          break;
        case 4: {
          const Parcel parcel{.id = std::string(1, static_cast<char>('a' + below(3))),
                              .turn = static_cast<std::uint64_t>(step) + below(3),
                              .blocks = list};
          const auto handed = mine.hand_over(parcel, "any");
          if (!handed.ok()) break;
          ++allowed;
          const auto offered = book.offer(m, "any", parcel);
          if (offered.ok()) break;
          ASSERT_EQ(offered.error().code, Code::aborted) << offered.error().message;
          mine.undo(*handed);
          break;
        }
        case 5:
          for (const Parcel& parcel : book.accept(m, 1).value()) {
            mine.taken(parcel);
            taken[i].push_back(parcel.number);
          }
          break;
        default:
          if (taken[i].empty()) break;
          const std::uint64_t number = taken[i][below(taken[i].size())];
          if (mine.finish(number).ok()) {
            ++allowed;
            ASSERT_TRUE(book.finish(m, number).ok());
          }
      }
    }
  }
  EXPECT_GT(allowed, 5000);
}

}  // namespace
}  // namespace aqua
