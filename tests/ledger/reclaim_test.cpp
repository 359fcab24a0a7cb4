// SPDX-License-Identifier: Apache-2.0
#include "tests/ledger/world.hpp"

namespace aqua::ledger::test {
namespace {

class LedgerReclaim : public World {
 protected:
  LedgerReclaim() : World(Limits{.client_ttl = Time{50'000}, .lease_ttl = Time{60'000}}) {
    producer = join_producer(1);
    consumer = join_consumer(2);
    offer(producer, slabs(0, 4));
  }
  const Reclaim& seen_reclaim(std::uint64_t id) { return ledger.reclaims().at(id); }
  std::set<SlabId> ids(std::initializer_list<std::uint32_t> indexes) {
    std::set<SlabId> made;
    for (const std::uint32_t index : indexes) made.insert({producer, index});
    return made;
  }
  ClientId producer, consumer;
};

TEST_F(LedgerReclaim, NonsenseIsInvalid) {
  refused(Code::invalid_argument, [&] { return ledger.reclaim(producer, 0, now + Time{1}, now); });
  refused(Code::invalid_argument, [&] { return ledger.reclaim(producer, 1, now, now); });
}

TEST_F(LedgerReclaim, OfferedSlabsComeBackAtOnceAndFinishIt) {
  read_all();
  const auto start = reclaim(producer, kSlab + 1, Time{100});
  EXPECT_EQ(start.withdrawn.size(), 2u);
  EXPECT_TRUE(start.reclaim.done);
  EXPECT_EQ(start.reclaim.bytes_wanted, kSlab + 1);
  EXPECT_EQ(start.reclaim.bytes_returned, 2 * kSlab);
  EXPECT_EQ(news(producer), Kinds{"reclaim_done"});
  EXPECT_EQ(ledger.slabs().size(), 2u);
  EXPECT_EQ(lease(consumer, kPlenty).size(), 2u) << "the rest is still offered";
}

TEST_F(LedgerReclaim, ThenTheLastGrantedAreRevokedWhileNothingIsGranted) {
  const auto grants = lease(consumer, 3 * kSlab);
  read_all();
  const auto start = reclaim(producer, 2 * kSlab, Time{100});
  EXPECT_EQ(start.withdrawn, (std::vector<SlabId>{{producer, 3}}));
  EXPECT_EQ(start.reclaim.outstanding, ids({2}));
  EXPECT_EQ(news(consumer), Kinds{"revoke"});
  EXPECT_EQ(ledger.events(consumer, seen)->at(0).deadline, now + Time{100});
  offer(producer, slabs(9, 1));
  refused(Code::unavailable, [&] { return ledger.lease(consumer, 1, kPlenty, now); });
  give_back(consumer, grants[2]);
  EXPECT_FALSE(seen_reclaim(start.reclaim.id).done) << "not back before the scrub";
  read_all();
  EXPECT_EQ(scrub(grants[2].slab), SlabState::returned);
  EXPECT_TRUE(seen_reclaim(start.reclaim.id).done);
  EXPECT_EQ(seen_reclaim(start.reclaim.id).bytes_returned, 2 * kSlab);
  EXPECT_EQ(news(producer), Kinds{"reclaim_done"});
  EXPECT_EQ(news(consumer), Kinds{"offers_available"});
  EXPECT_EQ(lease(consumer, 1).at(0).slab.index, 9u);
}

TEST_F(LedgerReclaim, QuarantinedSlabsAndLiveHoldersAreCheaperThanSilentOnes) {
  ledger = Ledger(Limits{.share_producers = true});
  join_producer(1);
  join_consumer(2);
  const ClientId silent = join_consumer(3);
  offer(producer, slabs(0, 4));
  const Grant first = lease(consumer, 1).at(0);
  const Grant second = lease(consumer, 1).at(0);
  lease(silent, 2 * kSlab);
  give_back(consumer, second);
  accepted(ledger.suspect(silent, now));
  const auto start = reclaim(producer, 2 * kSlab, Time{100});
  EXPECT_EQ(start.reclaim.outstanding, (std::set<SlabId>{first.slab, second.slab}));
  EXPECT_EQ(state(second.slab), "quarantined");
  EXPECT_EQ(scrub(second.slab), SlabState::returned);
}

TEST_F(LedgerReclaim, NoLeaseIsRevokedForNothing) {
  accepted(ledger.withdraw(producer, {0, 1, 2, 3}, now));
  offer(producer, slabs(10, 1, 64 * kMiB));
  lease(consumer, 1);
  offer(producer, slabs(11, 1, 4 * kMiB));
  lease(consumer, 1);
  const auto start = reclaim(producer, 60 * kMiB, Time{100});
  EXPECT_EQ(start.reclaim.outstanding, ids({10})) << "the 4 MiB came first but do not help";
  EXPECT_EQ(state({producer, 11}), "leased");
}

TEST_F(LedgerReclaim, OverlappingReclaimsAddUp) {
  lease(consumer, 4 * kSlab);
  const auto a = reclaim(producer, kSlab, Time{100});
  const auto b = reclaim(producer, 2 * kSlab, Time{200});
  EXPECT_EQ(a.reclaim.outstanding, ids({3}));
  EXPECT_EQ(b.reclaim.outstanding, ids({1, 2}));
  const auto rest = reclaim(producer, kPlenty, Time{300});
  EXPECT_EQ(rest.reclaim.bytes_wanted, kSlab);
  EXPECT_EQ(rest.reclaim.outstanding, ids({0}));
  const auto nothing = reclaim(producer, kPlenty, Time{300});
  EXPECT_EQ(nothing.reclaim.bytes_wanted, 0u);
  EXPECT_TRUE(nothing.reclaim.done);
}

TEST_F(LedgerReclaim, AtTheDeadlineItEndsWithWhatIsMissingAndLateReturnsStillCount) {
  const auto grants = lease(consumer, 4 * kSlab);
  const auto id = reclaim(producer, 2 * kSlab, Time{100}).reclaim.id;
  give_back(consumer, grants[3]);
  read_all();
  pass(Time{99});
  EXPECT_EQ(news(producer), Kinds{});
  pass(Time{1});
  EXPECT_EQ(news(producer), Kinds{"reclaim_done"});
  EXPECT_TRUE(seen_reclaim(id).done);
  EXPECT_EQ(seen_reclaim(id).outstanding, ids({2, 3}));
  EXPECT_TRUE(ledger.slabs().at(grants[2].slab).late);
  EXPECT_FALSE(ledger.slabs().at(grants[3].slab).late) << "nobody holds it";
  EXPECT_EQ(scrub(grants[3].slab), SlabState::returned);
  give_back(consumer, grants[2]);
  EXPECT_EQ(scrub(grants[2].slab), SlabState::returned);
  EXPECT_EQ(seen_reclaim(id).bytes_returned, 2 * kSlab);
  EXPECT_TRUE(seen_reclaim(id).outstanding.empty());
  EXPECT_EQ(news(producer), (Kinds{"reclaim_done", "returned"})) << "done exactly once";
}

TEST_F(LedgerReclaim, ALateConsumerGetsNothingFromAnybodyUntilItHasReturned) {
  const auto grants = lease(consumer, 4 * kSlab);
  reclaim(producer, kSlab, Time{100});
  pass(Time{100});
  offer(producer, slabs(9, 1));
  refused(Code::failed_precondition, [&] { return ledger.lease(consumer, 1, kPlenty, now); });
  give_back(consumer, grants[3]);
  EXPECT_EQ(lease(consumer, 1).size(), 1u);
}

TEST_F(LedgerReclaim, ANewOneTakesOverLateSlabsLast) {
  lease(consumer, 2 * kSlab);
  accepted(ledger.withdraw(producer, {2, 3}, now));
  const auto old = reclaim(producer, kSlab, Time{100}).reclaim;
  ASSERT_EQ(old.outstanding, ids({1}));
  pass(Time{100});
  EXPECT_EQ(reclaim(producer, kSlab, Time{100}).reclaim.outstanding, ids({0}));
  read_all();
  const auto takeover = reclaim(producer, kSlab, Time{500}).reclaim;
  EXPECT_EQ(takeover.outstanding, ids({1}));
  EXPECT_TRUE(seen_reclaim(old.id).outstanding.empty());
  EXPECT_EQ(news(consumer), Kinds{"revoke"});
  EXPECT_TRUE(ledger.slabs().at({producer, 1}).late);
}

TEST_F(LedgerReclaim, SuspicionDoesNotLoseTheRevocation) {
  const auto grants = lease(consumer, 4 * kSlab);
  const auto id = reclaim(producer, kSlab, Time{100}).reclaim.id;
  accepted(ledger.suspect(consumer, now));
  EXPECT_EQ(state(grants[3].slab), "suspect");
  EXPECT_EQ(ledger.slabs().at(grants[3].slab).reclaim, id);
  accepted(ledger.renew(consumer, now));
  EXPECT_EQ(state(grants[3].slab), "revoking");
  EXPECT_EQ(state(grants[2].slab), "leased");
}

TEST_F(LedgerReclaim, TheHoldersDeathLeavesItToTheScrub) {
  const auto grants = lease(consumer, 4 * kSlab);
  const auto id = reclaim(producer, kSlab, Time{100}).reclaim.id;
  accepted(ledger.dead(consumer, now));
  EXPECT_EQ(seen_reclaim(id).outstanding, ids({3}));
  EXPECT_EQ(scrub(grants[2].slab), SlabState::offered);
  EXPECT_EQ(scrub(grants[3].slab), SlabState::returned);
  EXPECT_TRUE(seen_reclaim(id).done);
}

TEST_F(LedgerReclaim, TheProducersDeathEndsItAndNobodyIsLateAnyMore) {
  lease(consumer, 4 * kSlab);
  reclaim(producer, kSlab, Time{100});
  pass(Time{100});
  reclaim(producer, kSlab, Time{100});
  accepted(ledger.dead(producer, now));
  EXPECT_TRUE(ledger.reclaims().empty());
  const ClientId next = join_producer(3);
  offer(next, slabs(0, 1));
  EXPECT_EQ(lease(consumer, 1).size(), 1u);
}

TEST_F(LedgerReclaim, FinishedOnesAreRememberedButNotForEver) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    offer(producer, slabs(10 + i, 1));
    reclaim(producer, kSlab, Time{100});
  }
  EXPECT_EQ(ledger.reclaims().size(), 17u);
  EXPECT_TRUE(ledger.reclaims().contains(100));
}

}  // namespace
}  // namespace aqua::ledger::test
