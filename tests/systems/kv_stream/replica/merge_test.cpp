// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace aqua::kv_stream {
namespace {

TEST(Merge, PacksOfOneSizeAreMergedOnceThereAreEnough) {
  const std::vector<PackLoad> three{{1, 4}, {2, 5}, {3, 70}, {4, 6}};
  EXPECT_TRUE(packs_to_merge(three, 1000, 4).empty()) << "three of 4 to 15 tokens";
  auto four = three;
  four.push_back({5, 7});
  EXPECT_EQ(packs_to_merge(four, 1000, 4), (std::vector<PackId>{1, 2, 4, 5}));
}

TEST(Merge, FullPacksAndThoseWithoutAnythingToMoveAreLeftAlone) {
  EXPECT_TRUE(packs_to_merge({{1, 50}, {2, 60}, {3, 100}}, 100, 2).empty());
  EXPECT_TRUE(packs_to_merge({{1, 0}, {2, 0}, {3, 0}}, 100, 2).empty());
}

TEST(Merge, OnlyAsManyAsFitOnePack) {
  EXPECT_EQ(packs_to_merge({{1, 40}, {2, 40}, {3, 40}}, 100, 3), (std::vector<PackId>{1, 2}));
}

TEST(Merge, WhereRoomIsShortTheSmallestAreMergedWhateverTheirSizes) {
  EXPECT_EQ(packs_to_merge_now({{1, 60}, {2, 0}, {3, 1}, {4, 9}, {5, 35}}, 100),
            (std::vector<PackId>{3, 4, 5}));
  EXPECT_TRUE(packs_to_merge_now({{1, 60}, {2, 0}, {3, 41}}, 100).empty());
}

// A sequence that grows by a few tokens a pack is written again a few times, and is in few packs.
TEST(Merge, TokensAreWrittenAgainAsOftenAsTheLogarithmOfAPacksSize) {
  constexpr std::uint64_t kCapacity = 4096, kTokens = 100'000, kEach = 4;
  constexpr unsigned kFan = 8;
  std::vector<PackLoad> packs;
  PackId last = 0;
  std::uint64_t rewritten = 0;
  std::size_t most = 0;
  for (std::uint64_t tokens = 0; tokens < kTokens; tokens += kEach) {
    packs.push_back({++last, kEach});
    for (auto merged = packs_to_merge(packs, kCapacity, kFan); !merged.empty();
         merged = packs_to_merge(packs, kCapacity, kFan)) {
      PackLoad all{.pack = ++last};
      std::erase_if(packs, [&](const PackLoad& pack) {
        const bool goes = std::ranges::find(merged, pack.pack) != merged.end();
        all.tokens += goes ? pack.tokens : 0;
        return goes;
      });
      ASSERT_LE(all.tokens, kCapacity);
      rewritten += all.tokens;
      packs.push_back(all);
    }
    most = std::max(most, packs.size());
  }
  EXPECT_LE(rewritten, 4 * kTokens);  // log8(4096)
  EXPECT_LE(most, kTokens / (kCapacity / kFan) + 4 * kFan);
}

}  // namespace
}  // namespace aqua::kv_stream
