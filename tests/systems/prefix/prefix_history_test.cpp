// SPDX-License-Identifier: Apache-2.0
#include "systems/prefix/decide/prefix_history.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <set>

namespace aqua::prefix {

inline void PrintTo(Eviction eviction, std::ostream* out) {
  *out << (eviction == Eviction::lru ? "lru" : "cost_aware");
}

namespace test {
namespace {

constexpr std::size_t kRoom = std::size_t{1} << 20;

std::vector<BlockHash> chain(std::uint64_t prompt, std::size_t blocks) {
  std::vector<BlockHash> all;
  for (std::size_t i = 0; i < blocks; ++i) all.push_back({prompt, i + 1});
  return all;
}

std::vector<std::byte> written(const PrefixHistory& history, const PackHead& head) {
  std::vector<std::byte> segment(history.bytes());
  history.write(head, segment);
  return segment;
}

TEST(PrefixHistory, IsReadAsItWasWritten) {
  PrefixHistory history(kRoom);
  const auto first = chain(1, 3), second = chain(2, 1);
  history.asked({first, 24});
  history.asked({second, 5});
  history.stored({first, 24});
  const PackHead head{{1, 2}, {3, 4}, 9};
  const auto segment = written(history, head);
  PrefixHistory read(kRoom);
  const auto found = read.read(segment);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(*found, head);
  EXPECT_EQ(read.prompts(), history.prompts());
  EXPECT_EQ(read.bytes(), history.bytes());
  ASSERT_EQ(read.prompts().size(), 2U) << "what was asked for and then stored is one";
  EXPECT_TRUE(read.prompts()[0].asked && read.prompts()[0].stored);
  EXPECT_FALSE(read.prompts()[1].stored);
}

TEST(PrefixHistory, ThatIsCutOrChangedIsRefusedAndChangesNothing) {
  PrefixHistory history(kRoom);
  const auto first = chain(1, 2);
  history.stored({first, 16});
  const auto segment = written(history, {});
  PrefixHistory read(kRoom);
  for (std::size_t i = 0; i < segment.size(); ++i) {
    EXPECT_FALSE(read.read(std::span(segment).first(i)).ok()) << i;
    auto changed = segment;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(read.read(changed).ok()) << i;
  }
  EXPECT_TRUE(read.prompts().empty());
}

TEST(PrefixHistory, ForgetsTheOldestWhereThereIsNoRoom) {
  PrefixHistory history(1000);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto mine = chain(i, 4);
    history.stored({mine, 32});
  }
  EXPECT_LE(history.bytes(), 1000U);
  EXPECT_EQ(history.prompts().back().chain, chain(99, 4));
  EXPECT_GT(history.prompts().size(), 5U);
}

class RestoredIndex : public ::testing::TestWithParam<Eviction> {};

// Prompts by chance; a copy of the index that was shown them again goes on as the index does.
TEST_P(RestoredIndex, EvictsAsTheOneBeforeIt) {
  const PrefixOptions options{.block_tokens = 8,
                              .capacity_blocks = 40,
                              .eviction = GetParam(),
                              .costs = {.compute_per_token = 1e-3}};
  PrefixIndex index = *PrefixIndex::create(options);
  PrefixHistory history(kRoom);
  std::mt19937_64 random(1);
  std::set<BlockHash> present;
  const auto serve = [&](PrefixIndex& one, const std::vector<BlockHash>& prompt) {
    const Prefix prefix{prompt, prompt.size() * 8};
    const auto hit = one.acquire(prefix);
    auto added = *one.insert(prefix, Tier::peer);
    EXPECT_TRUE(one.release(std::span(prompt).first(hit.blocks)).ok());
    return std::pair(hit.blocks, std::move(added));
  };
  const auto draw = [&] { return chain(random() % 12 * (random() % 3), 1 + random() % 6); };
  for (int i = 0; i < 500; ++i) {
    const auto prompt = draw();
    history.asked({prompt, prompt.size() * 8});
    history.stored({prompt, prompt.size() * 8});
    const auto [hit, added] = serve(index, prompt);
    for (const BlockHash& block : added.evicted) present.erase(block);
    present.insert(prompt.begin(),
                   prompt.begin() + static_cast<std::ptrdiff_t>(added.first + added.blocks));
  }
  PrefixIndex restored = *PrefixIndex::create(options);
  restore_index(restored, {}, history, 1,
                [&](const BlockHash& block) { return present.contains(block); });
  ASSERT_EQ(restored.blocks(), present.size());
  for (int i = 0; i < 500; ++i) {
    const auto prompt = draw();
    const auto before = serve(index, prompt), after = serve(restored, prompt);
    ASSERT_EQ(after.first, before.first) << i;
    ASSERT_EQ(after.second.evicted, before.second.evicted) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, RestoredIndex,
                         ::testing::Values(Eviction::lru, Eviction::cost_aware));

// A pack of before the history, one of after it, and a block that the keeper does not have.
TEST(RestoreIndex, TakesWhatItsHistoryDoesNotTell) {
  PrefixIndex index = *PrefixIndex::create({.block_tokens = 8, .capacity_blocks = 3});
  PrefixHistory history(kRoom);
  const auto told = chain(2, 2);
  history.stored({told, 16});
  const std::vector<PrefixPack> packs{{.head = {.order = 1}, .tokens = 8, .chain = chain(1, 1)},
                                      {.head = {.order = 2}, .tokens = 16, .chain = told},
                                      {.head = {.order = 4}, .tokens = 8, .chain = chain(3, 1)}};
  restore_index(index, packs, history, 3,
                [&](const BlockHash& block) { return block != told.back(); });
  EXPECT_EQ(index.match(packs[0].prefix()).blocks, 0U) << "the oldest: there is room for three";
  EXPECT_EQ(index.match(packs[1].prefix()).blocks, 1U);
  EXPECT_EQ(index.match(packs[2].prefix()).blocks, 1U);
  EXPECT_EQ(index.match(packs[2].prefix()).slowest, Tier::host);
}

}  // namespace
}  // namespace test
}  // namespace aqua::prefix
