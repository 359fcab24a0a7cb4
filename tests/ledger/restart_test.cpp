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
  EXPECT_EQ(ledger.pairs().at(consumer), producer);
  accepted(ledger.renew(consumer, now));
  EXPECT_EQ(state(held), "leased");
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
