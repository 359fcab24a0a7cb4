// SPDX-License-Identifier: Apache-2.0
#include "aqua/prefix/prefix_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "tests/systems/prefix/mooncake.hpp"

namespace aqua::prefix::test {
namespace {

std::vector<Token> tokens(std::size_t count, Token first = 0) {
  std::vector<Token> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

PrefixIndex make(std::size_t capacity, Eviction eviction = Eviction::lru) {
  return *PrefixIndex::create({.block_tokens = 4,
                               .capacity_blocks = capacity,
                               .eviction = eviction,
                               .costs = {.compute_per_token = 1,
                                         .attention_per_token_pair = 0.01,
                                         .fetch_per_block = {0, 0.5, 1}}});
}

TEST(BlockHash, EqualPrefixesHaveEqualHashesAndNothingElseHas) {
  const auto a = hash_chain("tenant a", tokens(16), 4);
  ASSERT_EQ(a.size(), 4U);
  EXPECT_EQ(hash_chain("tenant a", tokens(19), 4), a) << "a partial block is left out";
  EXPECT_EQ(hash_chain("tenant a", tokens(19), 4, true).size(), 5U);
  auto other = tokens(16);
  other[5] += 1;
  const auto b = hash_chain("tenant a", other, 4);
  EXPECT_EQ(b[0], a[0]);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NE(b[i], a[i]) << "block " << i;
  const auto salted = hash_chain("tenant b", tokens(16), 4);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NE(salted[i], a[i]) << "block " << i;
}

TEST(PrefixIndex, FindsTheLongestPrefixAndCountsAPartialLastBlockByItsTokens) {
  PrefixIndex index = make(100);
  const auto chain = hash_chain("", tokens(10), 4, true);
  const auto added = index.insert({chain, 10}, Tier::peer);
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(added->first, 0U);
  EXPECT_EQ(added->blocks, 3U);
  EXPECT_EQ(index.match({chain, 10}).tokens, 10U);
  const auto longer = hash_chain("", tokens(16), 4);
  const PrefixMatch match = index.match({longer, 16});
  EXPECT_EQ(match.blocks, 2U) << "the third block is partial there and whole here";
  EXPECT_EQ(match.tokens, 8U);
  EXPECT_DOUBLE_EQ(match.fetch_seconds, 1.0);
  EXPECT_DOUBLE_EQ(match.recompute_seconds, 8 + 0.01 * (4 * 2 + 4 * 6));
}

TEST(PrefixIndex, EvictsTheOldestLeafAndNeverWhatIsHeldOrPinned) {
  PrefixIndex index = make(4);
  const auto held = hash_chain("", tokens(8, 100), 4);
  const auto pinned = hash_chain("", tokens(4, 200), 4);
  ASSERT_TRUE(index.insert({held, 8}, Tier::peer).ok());
  ASSERT_TRUE(index.insert({pinned, 4}, Tier::peer).ok());
  EXPECT_EQ(index.acquire({held, 8}).blocks, 2U);
  ASSERT_TRUE(index.pin(pinned).ok());
  EXPECT_EQ(index.held_blocks(), 3U);
  const auto fresh = hash_chain("", tokens(12, 300), 4);
  const auto added = index.insert({fresh, 12}, Tier::peer);
  EXPECT_EQ(added->blocks, 1U) << "one place is left";
  EXPECT_TRUE(added->evicted.empty());
  ASSERT_TRUE(index.release(held).ok());
  const auto more = index.insert({fresh, 12}, Tier::peer);
  EXPECT_EQ(more->first, 1U);
  EXPECT_EQ(more->evicted, (std::vector{held[1], held[0]})) << "a leaf goes before its parent";
  EXPECT_EQ(index.release(held).error().code, Code::not_found);
  EXPECT_EQ(index.unpin(fresh).error().code, Code::failed_precondition);
  EXPECT_TRUE(index.unpin(pinned).ok());
}

TEST(PrefixIndex, NamesRememberAChainAndKeepNothing) {
  PrefixIndex index = make(2);
  const auto chain = hash_chain("", tokens(8), 4);
  index.name("manual", {chain, 8});
  ASSERT_TRUE(index.find("manual").ok());
  EXPECT_EQ(index.match(*index.find("manual")).blocks, 0U);
  ASSERT_TRUE(index.insert(*index.find("manual"), Tier::host).ok());
  EXPECT_EQ(index.match(*index.find("manual")).slowest, Tier::host);
  ASSERT_TRUE(index.insert({hash_chain("", tokens(8, 50), 4), 8}, Tier::peer).ok());
  EXPECT_EQ(index.match(*index.find("manual")).blocks, 0U);
  EXPECT_TRUE(index.unname("manual").ok());
  EXPECT_EQ(index.find("manual").error().code, Code::not_found);
}

TEST(PrefixIndex, GivesUpSwapSpaceThatPreemptionWants) {
  PrefixIndex index = make(10);
  const auto a = hash_chain("", tokens(16), 4);
  ASSERT_TRUE(index.insert({a, 16}, Tier::peer).ok());
  ASSERT_TRUE(index.pin(std::span(a).first(1)).ok());
  EXPECT_EQ(index.set_capacity(2), (std::vector{a[3], a[2]}));
  EXPECT_EQ(index.set_capacity(0), (std::vector{a[1]})) << "the pinned block stays";
  EXPECT_EQ(index.blocks(), 1U);
}

TEST(PrefixIndex, EvictsTheOldestOfATierWithWhatContinuesIt) {
  PrefixIndex index = make(10);
  const auto a = hash_chain("", tokens(16), 4);
  const auto b = hash_chain("", tokens(8, 50), 4);
  ASSERT_TRUE(index.insert({a, 16}, Tier::peer).ok());
  ASSERT_TRUE(index.insert({b, 8}, Tier::peer).ok());
  ASSERT_TRUE(index.moved(a[3], Tier::host).ok());
  EXPECT_TRUE(index.evict(Tier::local).empty());
  EXPECT_EQ(index.evict(Tier::peer), (std::vector{a[3], a[2]})) << "nothing reaches a[3] any more";
  ASSERT_TRUE(index.pin(std::span(a).first(2)).ok());
  EXPECT_EQ(index.evict(Tier::peer), (std::vector{b[1]}));
  EXPECT_EQ(index.evict(Tier::peer), (std::vector{b[0]}));
  EXPECT_TRUE(index.evict(Tier::peer).empty()) << "what is left is pinned";
  ASSERT_TRUE(index.unpin(std::span(a).first(2)).ok());
  EXPECT_EQ(index.evict(Tier::peer), (std::vector{a[1]}));
  EXPECT_EQ(index.blocks(), 1U);
}

TEST(PrefixIndex, EvictsTheOldestOfThoseThatACallerNames) {
  PrefixIndex index = make(10);
  const auto a = hash_chain("", tokens(12), 4);
  const auto b = hash_chain("", tokens(8, 50), 4);
  ASSERT_TRUE(index.insert({a, 12}, Tier::peer).ok());
  ASSERT_TRUE(index.insert({b, 8}, Tier::peer).ok());
  ASSERT_TRUE(index.pin(std::span(b).first(1)).ok());
  const auto named = [&](const BlockHash& block) {
    EXPECT_NE(block, b[0]) << "it is pinned";
    return block == a[1] || block == b[1];
  };
  EXPECT_EQ(index.evict(named), (std::vector{a[2], a[1]}));
  EXPECT_EQ(index.evict(named), (std::vector{b[1]}));
  EXPECT_TRUE(index.evict(named).empty());
  EXPECT_EQ(index.blocks(), 2U);
}

TEST(PrefixIndex, LostBlocksTakeTheirContinuationsAlongAndComeBackWhenInserted) {
  PrefixIndex index = make(10);
  const auto a = hash_chain("", tokens(16), 4);
  ASSERT_TRUE(index.insert({a, 16}, Tier::peer).ok());
  EXPECT_EQ(index.acquire({a, 16}).blocks, 4U);
  EXPECT_EQ(*index.lost(a[1]), (std::vector{a[3], a[2], a[1]}));
  EXPECT_EQ(index.match({a, 16}).blocks, 1U);
  const auto again = index.insert({a, 16}, Tier::peer);
  EXPECT_EQ(again->first, 1U);
  EXPECT_EQ(again->blocks, 3U);
  EXPECT_TRUE(index.set_capacity(0).empty()) << "who acquired them holds them still";
  EXPECT_TRUE(index.release(a).ok());
  EXPECT_EQ(index.set_capacity(0).size(), 4U);
  EXPECT_EQ(index.lost(a[0]).error().code, Code::not_found);
}

TEST(PrefixIndex, WrongArgumentsNameTheField) {
  EXPECT_EQ(PrefixIndex::create({.block_tokens = 0}).error().code, Code::invalid_argument);
  EXPECT_EQ(PrefixIndex::create({.costs = {.compute_per_token = -1}}).error().code,
            Code::invalid_argument);
  PrefixIndex index = make(4);
  const auto a = hash_chain("", tokens(8), 4);
  EXPECT_EQ(index.insert({a, 9}, Tier::peer).error().code, Code::invalid_argument);
  EXPECT_EQ(index.insert({a, 4}, Tier::peer).error().code, Code::invalid_argument);
  EXPECT_EQ(index.blocks(), 0U);
}

// Against a second implementation that scans: LRU over leaves.
TEST(PrefixIndex, LruIsWhatANaiveModelSays) {
  struct Block {
    int parent;
    std::uint64_t used;
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    PrefixIndex index = make(12);
    std::map<int, Block> there;
    std::uint64_t now = 0;
    for (int round = 0; round < 400; ++round) {
      // Blocks are the nodes of a tree: 1, then 10 to 13, then 100 to 133 …
      std::vector<int> ids{1 + static_cast<int>(random() % 3)};
      for (std::size_t i = random() % 4; i > 0; --i) {
        ids.push_back(ids.back() * 10 + static_cast<int>(random() % 4));
      }
      std::vector<BlockHash> chain;
      for (const int id : ids) chain.push_back({0, static_cast<std::uint64_t>(id)});
      const Prefix prefix{chain, chain.size() * 4};
      std::size_t expected = 0;
      while (expected < ids.size() && there.contains(ids[expected])) ++expected;
      ASSERT_EQ(index.match(prefix).blocks, expected);
      ++now;
      std::vector<BlockHash> gone;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (!there.contains(ids[i]) && there.size() == 12) {
          int oldest = 0;
          for (const auto& [id, block] : there) {
            const bool leaf =
                std::none_of(there.begin(), there.end(),
                             [parent = id](const auto& b) { return b.second.parent == parent; });
            const bool mine = std::find(ids.begin(), ids.end(), id) != ids.end();
            if (leaf && !mine && (oldest == 0 || block.used < there.at(oldest).used)) oldest = id;
          }
          ASSERT_NE(oldest, 0);
          gone.push_back({0, static_cast<std::uint64_t>(oldest)});
          there.erase(oldest);
        }
        there[ids[i]] = {i > 0 ? ids[i - 1] : 0, now};
      }
      const auto added = index.insert(prefix, Tier::peer);
      ASSERT_TRUE(added.ok());
      ASSERT_EQ(added->evicted, gone);
      ASSERT_EQ(index.blocks(), there.size());
    }
  }
}

TEST(PrefixIndexOnTheTrace, AnInfiniteCacheHitsWhatTheTraceHas) {
  const auto prompts = mooncake_conversation();
  if (prompts.empty()) GTEST_SKIP() << "AQUA_DATA names no folder with the Mooncake trace";
  const Savings sum = replay(prompts, conversation_options(SIZE_MAX, Eviction::cost_aware));
  EXPECT_EQ(sum.hit_blocks, 105'710U);
  EXPECT_EQ(sum.blocks, 288'500U);  // 36.64 %
  // 37.36 %: a last, partial block that is hit counts with the tokens it has.
  EXPECT_NEAR(static_cast<double>(sum.hit_tokens) / static_cast<double>(sum.tokens), 0.374, 0.0005);
}

// docs/engine/scheduling.md has the whole sweep; capacities here are of it and between.
TEST(PrefixIndexOnTheTrace, CostAwareSavesNoLessThanLruAtAnyCapacity) {
  const auto prompts = mooncake_conversation();
  if (prompts.empty()) GTEST_SKIP() << "AQUA_DATA names no folder with the Mooncake trace";
  std::vector<std::size_t> capacities{250, 700, 1000, 2000, 8000, 40'000, 96'000};
  std::mt19937_64 random(1);
  for (double low = 150; low < 150'000; low *= 10) {  // one in each decade, wherever
    capacities.push_back(static_cast<std::size_t>(
        low * std::pow(10.0, static_cast<double>(random() % 1000) / 1000)));
  }
  for (const std::size_t capacity : capacities) {
    const double cost =
        replay(prompts, conversation_options(capacity, Eviction::cost_aware)).seconds;
    const double lru = replay(prompts, conversation_options(capacity, Eviction::lru)).seconds;
    EXPECT_GE(cost, lru) << capacity << " blocks";
    if (capacity >= 700 && capacity <= 8000) {
      EXPECT_GT(cost, 1.1 * lru) << capacity << " blocks";
    }
  }
}

}  // namespace
}  // namespace aqua::prefix::test
