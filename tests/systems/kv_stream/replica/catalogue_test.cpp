// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/catalogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "systems/kv_stream/decide/replica/token_map.hpp"

namespace aqua::kv_stream {
namespace {

using Ids = std::vector<std::uint32_t>;

// An entry with the tokens [first, end) of a sequence that had these ids.
PackEntry entry_of(const Ids& ids, std::uint32_t first, std::uint32_t end) {
  return {.sequence = 7,
          .first = first,
          .ids = {ids.begin() + first, ids.begin() + end},
          .offset = 64,
          .before = TokenIds(ids).fingerprint(first)};
}
PackEntry with_sampler(PackEntry entry, const Ids& ids, std::uint32_t tokens) {
  entry.sampler = {.tokens = tokens, .state = {std::byte(tokens)}};
  entry.sampler_ids = TokenIds(ids).fingerprint(tokens);
  return entry;
}
Pack pack_of(std::vector<PackEntry> entries) {
  return {.owner = {.group = "decode"}, .token_bytes = 1, .entries = std::move(entries)};
}
std::uint32_t mark_of(const ReplicaCatalogue& catalogue, const Ids& known,
                      std::uint32_t room = UINT32_MAX) {
  const auto pieces = catalogue.cover(7, TokenIds(known), room);
  return pieces.empty() ? 0 : pieces.back().end;
}

const Ids kIds{10, 11, 12, 13, 14, 15, 16, 17, 18, 19};

TEST(ReplicaCatalogue, PacksMakeUpASequenceUpToTheFirstGap) {
  ReplicaCatalogue catalogue;
  catalogue.add(1, pack_of({entry_of(kIds, 0, 4)}));
  catalogue.add(2, pack_of({entry_of(kIds, 4, 6)}));
  catalogue.add(3, pack_of({entry_of(kIds, 7, 10)}));
  EXPECT_EQ(mark_of(catalogue, kIds), 6U);
  catalogue.add(4, pack_of({entry_of(kIds, 5, 8)}));
  EXPECT_EQ(mark_of(catalogue, kIds), 10U);
  EXPECT_EQ(catalogue.sequences(), std::vector<std::uint64_t>{7});
  EXPECT_TRUE(catalogue.cover(8, TokenIds(kIds), UINT32_MAX).empty()) << "another sequence";
}

TEST(ReplicaCatalogue, WhatNobodyWasGivenIsCutOff) {
  ReplicaCatalogue catalogue;
  catalogue.add(1, pack_of({entry_of(kIds, 0, 10)}));
  EXPECT_EQ(mark_of(catalogue, {10, 11, 12, 13, 14, 15}), 6U) << "delivered";
  EXPECT_EQ(mark_of(catalogue, {10, 11, 12, 13, 14, 99, 16}), 5U) << "went another way since";
  EXPECT_EQ(mark_of(catalogue, {99}), 0U) << "another request of the same number";
}

TEST(ReplicaCatalogue, EqualIdsBehindOtherOnesAreOtherKv) {
  Ids other = kIds;
  other[2] = 99;
  ReplicaCatalogue catalogue;
  catalogue.add(1, pack_of({entry_of(kIds, 0, 5)}));
  catalogue.add(2, pack_of({entry_of(other, 5, 10)}));
  EXPECT_EQ(mark_of(catalogue, kIds), 5U);
}

TEST(ReplicaCatalogue, WhatReachesBehindTheRoomDoesNotCount) {
  ReplicaCatalogue catalogue;
  catalogue.add(1, pack_of({entry_of(kIds, 0, 4), entry_of(kIds, 4, 10)}));
  const Ids known{kIds.begin(), kIds.begin() + 6};
  EXPECT_EQ(mark_of(catalogue, known, 10), 6U);
  EXPECT_EQ(mark_of(catalogue, known, 9), 4U);
}

TEST(ReplicaCatalogue, TheLatestStateOfTheSamplerBehindKnownIdsCounts) {
  ReplicaCatalogue catalogue;
  EXPECT_FALSE(catalogue.sampler(7, TokenIds(kIds)));
  catalogue.add(1, pack_of({with_sampler(entry_of(kIds, 0, 4), kIds, 4)}));
  catalogue.add(2, pack_of({with_sampler(entry_of(kIds, 4, 8), kIds, 8)}));
  EXPECT_EQ(catalogue.sampler(7, TokenIds(kIds))->tokens, 8U);
  EXPECT_EQ(catalogue.sampler(7, TokenIds(Ids{10, 11, 12, 13, 14}))->tokens, 4U);
  EXPECT_FALSE(catalogue.sampler(7, TokenIds(Ids{10, 11, 12, 99, 14})));
}

// Naively: a token counts when any entry has it whose ids up to it are all those that are known.
std::uint32_t naive_mark(const std::vector<std::pair<Ids, TokenSpan>>& entries, const Ids& known,
                         std::uint32_t room) {
  std::uint32_t mark = 0;
  for (; mark < known.size(); ++mark) {
    const bool there = std::ranges::any_of(entries, [&](const auto& entry) {
      const auto& [ids, span] = entry;
      return span.first <= mark && mark < span.end && span.end <= room &&
             std::equal(known.begin(), known.begin() + mark + 1, ids.begin());
    });
    if (!there) break;
  }
  return mark;
}

TEST(ReplicaCatalogue, WatermarksAreThoseOfANaiveOneWhichLooksAtEachToken) {
  std::mt19937 random(1);
  std::size_t marks = 0;
  for (int round = 0; round < 2000; ++round) {
    // Answers that part at some token, and may come together again.
    std::vector<Ids> answers(3, kIds);
    for (Ids& ids : answers) ids[random() % ids.size()] = static_cast<std::uint32_t>(random() % 2);
    ReplicaCatalogue catalogue;
    std::vector<std::pair<Ids, TokenSpan>> entries;
    for (std::uint64_t pack = 1; pack <= 6; ++pack) {
      const Ids& ids = answers[random() % answers.size()];
      const auto first = static_cast<std::uint32_t>(random() % ids.size());
      const auto end = first + 1 + static_cast<std::uint32_t>(random() % (ids.size() - first));
      catalogue.add(pack, pack_of({entry_of(ids, first, end)}));
      entries.push_back({ids, {first, end}});
    }
    Ids known = answers[random() % answers.size()];
    known.resize(1 + random() % known.size());
    const auto room = static_cast<std::uint32_t>(5 + random() % 6);
    const auto pieces = catalogue.cover(7, TokenIds(known), room);
    ASSERT_EQ(mark_of(catalogue, known, room), naive_mark(entries, known, room));
    std::uint32_t covered = 0;
    for (const CoverPiece& piece : pieces) {
      ASSERT_EQ(piece.first, covered);
      ASSERT_LE(piece.entry->first, piece.first);
      covered = piece.end;
    }
    marks += covered;
  }
  EXPECT_GT(marks, 2000U);
}

}  // namespace
}  // namespace aqua::kv_stream
