// SPDX-License-Identifier: Apache-2.0
// What accounts are made of: every change is told once, in order, and sums up to the rows.

#include "tests/ledger/world.hpp"

namespace aqua::ledger::test {
namespace {

struct LedgerChanges : World {
  LedgerChanges() { ledger.keep_changes(); }
  Changes take() {
    Changes changes;
    ledger.take_changes(changes);
    return changes;
  }
  static std::vector<std::string> steps(const Changes& changes) {
    std::vector<std::string> told;
    for (const SlabChange& c : changes.slabs) {
      told.push_back(concat(to_string(c.event), " ", to_string(c.from), " ", to_string(c.to)));
    }
    return told;
  }
};

TEST_F(LedgerChanges, LifeOfASlabIsToldInOrderWithItsHolder) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 1));
  const auto grants = lease(consumer, kSlab);
  reclaim(producer, kSlab, Time{1000});
  give_back(consumer, grants[0]);
  scrub(grants[0].slab);
  const Changes changes = take();
  EXPECT_EQ(steps(changes),
            (std::vector<std::string>{"offer returned offered", "grant offered leased",
                                      "reclaim leased revoking", "give_back revoking quarantined",
                                      "scrub quarantined returned"}));
  EXPECT_EQ(changes.slabs[1].holder, consumer);
  EXPECT_EQ(changes.slabs[3].holder, consumer) << "who held it until now";
  EXPECT_EQ(changes.slabs[4].holder, std::nullopt);
  EXPECT_EQ(changes.slabs[4].generation, 2U);
  ASSERT_EQ(changes.ended.size(), 1U);
  EXPECT_TRUE(changes.ended[0].reclaim.outstanding.empty());
  EXPECT_FALSE(changes.ended[0].dropped);
  EXPECT_TRUE(take().empty()) << "told once";
}

TEST_F(LedgerChanges, ReclaimThatEndsPartiallyNamesWhatIsMissingAndWhenItEnded) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 2));
  lease(consumer, 2 * kSlab);
  reclaim(producer, 2 * kSlab, Time{1000});
  const Time started = now;
  now += Time{1000};
  ledger.advance(now);
  const Changes changes = take();
  ASSERT_EQ(changes.ended.size(), 1U);
  EXPECT_EQ(changes.ended[0].reclaim.outstanding.size(), 2U);
  EXPECT_EQ(changes.ended[0].reclaim.ended - started, Time{1000});
}

TEST_F(LedgerChanges, ReclaimOfAProducerThatDiesIsDropped) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 1));
  lease(consumer, kSlab);
  reclaim(producer, kSlab, Time{1000});
  accepted(ledger.dead(producer, now));
  const Changes changes = take();
  ASSERT_EQ(changes.ended.size(), 1U);
  EXPECT_TRUE(changes.ended[0].dropped);
}

TEST_F(LedgerChanges, NothingIsKeptUnlessAskedFor) {
  Ledger plain;
  accepted(plain.join(client_info(1, true, false), now));
  accepted(plain.offer(client_id(1), slabs(0, 1), now));
  Changes changes;
  plain.take_changes(changes);
  EXPECT_TRUE(changes.empty());
}

// --- operators -------------------------------------------------------------------------------

TEST_F(LedgerChanges, RecallTellsTheProducerOfFreeSlabsToTakeHome) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 2));
  const auto grants = lease(consumer, kSlab);
  const std::uint64_t before = ledger.last_event();
  const auto start = accepted(ledger.recall(producer, 2 * kSlab, now + Time{1000}, now));
  ASSERT_EQ(start.withdrawn.size(), 1U);
  const auto told = ledger.events(producer, before);
  ASSERT_TRUE(told);
  ASSERT_EQ(told->size(), 1U);
  EXPECT_EQ(told->front().kind, EventKind::withdrawn);
  EXPECT_EQ(told->front().slab, start.withdrawn[0]);
  EXPECT_EQ(told->front().reclaim, start.reclaim.id);
  EXPECT_EQ(ledger.slabs().at(grants[0].slab).state, SlabState::revoking);
}

TEST_F(LedgerChanges, DrainedProducerGrantsNothingUntilTheDrainEnds) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 1));
  accepted(ledger.drain(producer, true));
  EXPECT_EQ(ledger.lease(consumer, kSlab, kPlenty, now).error().code, Code::unavailable);
  const std::uint64_t before = ledger.last_event();
  accepted(ledger.drain(producer, false));
  ASSERT_EQ(ledger.events(consumer, before)->size(), 1U) << "told that there is something again";
  EXPECT_EQ(lease(consumer, kSlab).size(), 1U);
}

TEST_F(LedgerChanges, DrainedConsumerIsGrantedNothingAndKeepsWhatItHolds) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 2));
  const auto grants = lease(consumer, kSlab);
  accepted(ledger.drain(consumer, true));
  EXPECT_EQ(ledger.lease(consumer, kSlab, kPlenty, now).error().code, Code::failed_precondition);
  EXPECT_EQ(ledger.slabs().at(grants[0].slab).state, SlabState::leased);
  EXPECT_EQ(ledger.drain(client_id(9), true).error().code, Code::not_found);
}

}  // namespace
}  // namespace aqua::ledger::test
