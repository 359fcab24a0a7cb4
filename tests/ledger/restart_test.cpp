// SPDX-License-Identifier: Apache-2.0
// A coordinator that starts empty learns from exporters who holds what.
#include "tests/ledger/world.hpp"

namespace aqua::ledger::test {
namespace {

class LedgerRestart : public World {
 protected:
  // Producer 1 declares slab 0 held by client 2 at generation 5, and slab 1 free.
  void redeclare() {
    auto list = slabs(0, 2);
    list[0].generation = 5;
    list[0].holder = consumer;
    producer = join_producer(1);
    offer(producer, list);
  }
  ClientId producer;
  ClientId consumer = client_id(2);
  SlabId held{client_id(1), 0};
};

TEST_F(LedgerRestart, AHeldSlabIsNotGrantedWhoeverComesFirst) {
  redeclare();
  EXPECT_EQ(state(held), "suspect");
  const ClientId other = join_consumer(3);
  EXPECT_EQ(lease(other, kPlenty).size(), 1u);
  refused(Code::unavailable, [&] { return ledger.lease(other, 1, kPlenty, now); });
}

TEST_F(LedgerRestart, TheHolderHasItAgainOnceItJoins) {
  redeclare();
  pass(Time{1'000'000});
  EXPECT_EQ(state(held), "suspect");
  accepted(ledger.renew(producer, now));
  join_consumer(2);
  accepted(ledger.renew(consumer, now));
  EXPECT_EQ(state(held), "leased");
  EXPECT_EQ(ledger.pairs().at(consumer), producer) << "and its pair";
  refused(Code::failed_precondition, [&] { return ledger.lease(consumer, 1, kSlab, now); });
  accepted(ledger.give_back(consumer, held, 5, now));
  EXPECT_EQ(scrub(held), SlabState::offered);
  EXPECT_EQ(ledger.slabs().at(held).generation, 6u);
}

TEST_F(LedgerRestart, AHolderThatJoinedFirstHasItWithItsNextRenewal) {
  join_consumer(2);
  redeclare();
  EXPECT_EQ(state(held), "suspect");
  accepted(ledger.renew(consumer, now));
  EXPECT_EQ(state(held), "leased");
  EXPECT_EQ(lease(join_consumer(3), kPlenty).size(), 1u) << "the free one";
  accepted(ledger.give_back(consumer, held, 5, now));
  EXPECT_EQ(scrub(held), SlabState::offered);
}

// Whoever has joined says itself what it holds: it gives back what it does not know.
class LedgerAllegation : public LedgerRestart {
 protected:
  // A victim that holds nothing, and a producer that says otherwise of its own slab 0.
  LedgerAllegation() {
    join_consumer(2);
    producer = join_producer(1);
    auto list = slabs(0, 1);
    list[0].generation = 5;
    list[0].holder = consumer;
    offer(producer, list);
    accepted(ledger.renew(consumer, now));
    honest = join_producer(4);
    offer(honest, slabs(0, 2));
  }
  ClientId honest;
};

TEST_F(LedgerAllegation, ChargesTheAllegedHolderNothingAndPairsItWithNobody) {
  EXPECT_TRUE(is_alleged(ledger.slabs().at(held)));
  EXPECT_TRUE(ledger.pairs().empty());
  // Exits for one slab, and one is granted: the alleged one does not count.
  const auto grants = accepted(ledger.lease(consumer, kPlenty, kSlab, now));
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].slab.producer, honest);
}

TEST_F(LedgerAllegation, MakesNobodyLate) {
  reclaim(producer, kPlenty, Time{100});
  pass(Time{200});
  accepted(ledger.renew(consumer, now));
  EXPECT_FALSE(ledger.slabs().at(held).late);
  EXPECT_EQ(lease(consumer, 1).size(), 1u);
}

TEST_F(LedgerAllegation, KeepsNobodyFromLeaving) {
  accepted(ledger.leave(consumer, now));
  EXPECT_EQ(state(held), "quarantined");
}

TEST_F(LedgerRestart, AHolderThatNeverComesIsResolvedByItsExporter) {
  redeclare();
  EXPECT_EQ(scrub(held), SlabState::offered);
  EXPECT_EQ(ledger.slabs().at(held).generation, 6u);
}

TEST_F(LedgerRestart, AHolderThatNeverCameCanBeProvenDead) {
  redeclare();
  read_all();
  accepted(ledger.dead(consumer, now));
  EXPECT_EQ(state(held), "quarantined");
  EXPECT_EQ(news(producer), Kinds{"holder_dead"});
  refused(Code::not_found, [&] { return ledger.dead(consumer, now); });
}

TEST_F(LedgerRestart, AReclaimReachesAHolderThatIsNotThereYet) {
  redeclare();
  reclaim(producer, kPlenty, Time{100});
  EXPECT_EQ(state(held), "suspect");
  join_consumer(2);
  EXPECT_EQ(state(held), "revoking");
  EXPECT_EQ(news(consumer), Kinds{"revoke"});
  accepted(ledger.dead(producer, now));
  EXPECT_EQ(state(held), "orphaned");
}

TEST_F(LedgerRestart, DeclaringAgainWhileTheHoldLastsChangesNothing) {
  join_consumer(2);
  redeclare();
  accepted(ledger.renew(consumer, now));
  const std::string before = dump(ledger);
  redeclare();
  EXPECT_EQ(dump(ledger), before);
  auto list = slabs(0, 1);
  list[0].generation = 5;
  list[0].holder = client_id(7);
  refused(Code::already_exists, [&] { return ledger.offer(producer, list, now); });
}

}  // namespace
}  // namespace aqua::ledger::test
