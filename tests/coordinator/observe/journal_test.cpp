// SPDX-License-Identifier: Apache-2.0
// The accounts agree with the ledger whatever happened, and stay within their bounds.
#include "coordinator/observe/journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/concat.hpp"

namespace aqua::coordinator {
namespace {

using ledger::Ledger;
using ledger::SlabState;
using ledger::Time;

constexpr std::uint64_t kBytes = 1 << 20;

ledger::ClientInfo client(unsigned n, bool producer) {
  ledger::ClientInfo info;
  info.id.bytes[15] = static_cast<std::uint8_t>(n + 1);
  info.name = concat(producer ? "lender-" : "borrower-", n);
  info.device.bytes[0] = static_cast<std::uint8_t>(n + 1);
  info.server = info.domain = "here";
  info.producer = producer;
  info.consumer = !producer;
  return info;
}

// Two lenders, two borrowers, and chance.
struct JournalTest : ::testing::Test {
  JournalTest() {
    ledger.keep_changes();
    for (unsigned n = 0; n < 4; ++n) join(n);
  }
  void join(unsigned n) { (void)ledger.join(client(n, n < 2), now); }
  void account() {
    ledger::Changes changes;
    ledger.take_changes(changes);
    journal.note(changes, ledger);
  }
  void offer(unsigned producer, std::uint32_t index,
             const std::optional<ClientId>& holder = std::nullopt) {
    const std::vector<ledger::OfferedSlab> slabs{
        {.index = index, .bytes = kBytes, .generation = 1, .secret = {}, .holder = holder}};
    (void)ledger.offer(client(producer, true).id, slabs, now);
  }
  void step_by_chance() {
    const unsigned producer = chance() % 2;
    const ClientId consumer = client(2 + chance() % 2, false).id;
    switch (chance() % 9) {
      case 0:
        offer(producer, static_cast<std::uint32_t>(chance() % 8));
        return offer(producer, static_cast<std::uint32_t>(8 + chance() % 2), consumer);
      case 1:
        (void)ledger.lease(consumer, kBytes, 16 * kBytes, now);
        return;
      case 2:
        (void)ledger.reclaim(client(producer, true).id, 2 * kBytes, now + Time{50}, now);
        return;
      case 3:
        if (chance() % 8 != 0) return;
        (void)ledger.dead(chance() % 2 == 0 ? consumer : client(producer, true).id, now);
        return;
      case 4:
        for (unsigned n = 0; n < 4; ++n) join(n);
        return;
      case 5:
        now += Time{chance() % 40};
        return;
      case 6:
        (void)ledger.suspect(consumer, now);
        return;
      default:
        return end_a_hold(chance() % 2 == 0);
    }
  }
  void end_a_hold(bool scrub) {
    if (ledger.slabs().empty()) return;
    const auto at = std::next(ledger.slabs().begin(),
                              static_cast<std::ptrdiff_t>(chance() % ledger.slabs().size()));
    const ledger::Slab row = at->second;
    if (scrub) {
      (void)ledger.scrubbed(row.id.producer, row.id.index, row.generation, {}, now);
    } else if (row.holder) {
      (void)ledger.give_back(*row.holder, row.id, row.generation, now);
    }
  }

  std::mt19937 chance{7};
  Time now{1000};
  Ledger ledger;
  Metrics metrics{"test"};
  Journal journal{metrics};
};

TEST_F(JournalTest, TallyKeptByChangesIsTheTallyOfTheRows) {
  std::size_t held = 0;
  for (int i = 0; i < 20'000; ++i) {
    step_by_chance();
    account();
    const Tally kept = journal.tally();
    const Tally counted(ledger);
    for (const SlabState state : ledger::kSlabStates) {
      ASSERT_EQ(kept.of(state), counted.of(state)) << i << " " << to_string(state);
    }
    ASSERT_EQ(kept.loans().size(), counted.loans().size()) << i;
    for (const auto& [pair, loan] : counted.loans()) {
      ASSERT_EQ(static_cast<const Sum&>(kept.loans().at(pair)), static_cast<const Sum&>(loan));
    }
    held += counted.loans().size();
  }
  EXPECT_GT(held, 1000U) << "chance never lent anything";
}

// A lender that says of its own slab that a client which has joined holds it.
TEST_F(JournalTest, AnAllegedHoldIsNoLoan) {
  const ClientId victim = client(2, false).id;
  offer(0, 3, victim);
  account();
  ASSERT_TRUE(is_alleged(ledger.slabs().at({client(0, true).id, 3})));
  for (const Tally& tally : {journal.tally(), Tally(ledger)}) {
    EXPECT_EQ(tally.loans().size(), 0U);
    EXPECT_EQ(tally.of(SlabState::suspect).bytes, kBytes) << "still nobody else's";
  }
  ASSERT_TRUE(ledger.give_back(victim, {client(0, true).id, 3}, 1, now).ok());
  account();
  EXPECT_EQ(journal.tally().loans().size(), 0U);
  EXPECT_EQ(journal.tally().of(SlabState::quarantined).bytes, kBytes);
}

TEST_F(JournalTest, StoryNamesTheHolderEvenAfterItsDeath) {
  offer(0, 3);
  const ClientId consumer = client(2, false).id;
  ASSERT_TRUE(ledger.lease(consumer, kBytes, kBytes, now).ok());
  account();
  ASSERT_TRUE(ledger.dead(consumer, now).ok());
  account();
  const auto story = journal.story({client(0, true).id, 3});
  ASSERT_TRUE(story);
  ASSERT_EQ(story->entries.size(), 3U);
  EXPECT_EQ(story->entries[2].event, "holder_dead");
  EXPECT_EQ(story->entries[2].holder_name, "borrower-2");
  EXPECT_EQ(story->entries[2].to, SlabState::quarantined);
}

TEST_F(JournalTest, SlabHeldPastADeadlineIsLateInItsStory) {
  offer(0, 3);
  ASSERT_TRUE(ledger.lease(client(2, false).id, kBytes, kBytes, now).ok());
  ASSERT_TRUE(ledger.reclaim(client(0, true).id, kBytes, now + Time{50}, now).ok());
  ledger.advance(now + Time{50});
  account();
  const auto story = journal.story({client(0, true).id, 3});
  ASSERT_TRUE(story);
  EXPECT_EQ(story->entries.back().event, "late");
  EXPECT_EQ(story->entries.back().holder_name, "borrower-2");
  EXPECT_EQ(story->entries.back().reclaim, 1U);
}

TEST_F(JournalTest, StoriesAreBoundedAndTheLongestUntouchedForgetsFirst) {
  EventLog log({.per_slab = 4, .in_all = 10});
  const auto change = [&](std::uint32_t index) {
    log.add({.at = now, .slab = {client(0, true).id, index}, .bytes = kBytes, .holder = {}},
            ledger);
  };
  for (int i = 0; i < 6; ++i) change(0);
  EXPECT_EQ(log.story({client(0, true).id, 0})->entries.size(), 4U);
  EXPECT_EQ(log.story({client(0, true).id, 0})->forgotten, 2U);
  for (std::uint32_t index = 1; index < 9; ++index) {
    change(index);
    EXPECT_LE(log.size(), 10U);
  }
  EXPECT_EQ(log.story({client(0, true).id, 0})->entries.size(), 2U);
  change(9);
  change(10);
  EXPECT_FALSE(log.story({client(0, true).id, 0}));
  EXPECT_TRUE(log.story({client(0, true).id, 1}));
}

TEST_F(JournalTest, HistoryKeepsOneSampleASecondAndTheLastIsHowThingsAre) {
  History history;
  offer(0, 0);
  history.add(Tally(ledger), Time{0});
  offer(0, 1);
  history.add(Tally(ledger), Time{999});
  ASSERT_EQ(history.samples().size(), 1U);
  EXPECT_EQ(history.samples().back().offered, 2 * kBytes);
  for (int second = 1; second < 2000; ++second) history.add(Tally(ledger), Time{second * 1000});
  EXPECT_EQ(history.samples().size(), History::kSamples);
}

}  // namespace
}  // namespace aqua::coordinator
