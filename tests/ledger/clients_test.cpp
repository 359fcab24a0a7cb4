// SPDX-License-Identifier: Apache-2.0
#include "tests/ledger/world.hpp"

namespace aqua::ledger::test {
namespace {

class LedgerClients : public World {
 protected:
  LedgerClients() : World(Limits{.max_clients = 3}) {}
};

TEST_F(LedgerClients, NilIdIsInvalidAndOneClientTooManyIsExhausted) {
  refused(Code::invalid_argument, [&] { return ledger.join(ClientInfo{}, now); });
  for (std::uint64_t n = 1; n <= 3; ++n) join_consumer(n);
  refused(Code::resource_exhausted, [&] { return ledger.join(client_info(4, true, true), now); });
  join_consumer(3);  // again is not one more
}

TEST_F(LedgerClients, NobodyUnknownIsServed) {
  const ClientId stranger = client_id(9);
  refused(Code::not_found, [&] { return ledger.renew(stranger, now); });
  refused(Code::not_found, [&] { return ledger.suspect(stranger, now); });
  refused(Code::not_found, [&] { return ledger.dead(stranger, now); });
  refused(Code::not_found, [&] { return ledger.leave(stranger, now); });
  refused(Code::not_found, [&] { return ledger.offer(stranger, slabs(0, 1), now); });
  refused(Code::not_found, [&] { return ledger.withdraw(stranger, {0}, now); });
  refused(Code::not_found, [&] { return ledger.reclaim(stranger, 1, now + Time{1}, now); });
  refused(Code::not_found, [&] { return ledger.lease(stranger, 1, 1, now); });
  refused(Code::not_found, [&] { return ledger.unpair(stranger); });
}

TEST_F(LedgerClients, SilenceMakesClientAndLeasesSuspectNeverFree) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 1));
  const Grant grant = lease(consumer, kSlab).at(0);
  EXPECT_EQ(grant.expires, now + Time{5000});
  EXPECT_EQ(ledger.next_deadline(), now + Time{3000});
  pass(Time{2999});
  EXPECT_EQ(ledger.clients().at(consumer).state, ClientState::live);
  pass(Time{1});
  EXPECT_EQ(ledger.clients().at(consumer).state, ClientState::suspect);
  EXPECT_EQ(state(grant.slab), "leased");
  pass(Time{2000});
  EXPECT_EQ(state(grant.slab), "suspect");
  EXPECT_EQ(ledger.next_deadline(), std::nullopt);
  pass(Time{1'000'000'000});
  EXPECT_EQ(state(grant.slab), "suspect");
  EXPECT_EQ(ledger.slabs().at(grant.slab).holder, consumer);
  accepted(ledger.renew(consumer, now));
  EXPECT_EQ(state(grant.slab), "leased");
  EXPECT_EQ(ledger.clients().at(consumer).state, ClientState::live);
}

TEST_F(LedgerClients, TimeThatRunsBackwardsIsTheLatestTime) {
  const ClientId consumer = join_consumer(1);
  accepted(ledger.renew(consumer, now - Time{2000}));
  EXPECT_EQ(ledger.clients().at(consumer).expires, now + Time{3000});
}

TEST_F(LedgerClients, ASuspectConsumerGetsNothingAndASuspectProducerLendsNothing) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 1));
  accepted(ledger.suspect(consumer, now));
  refused(Code::failed_precondition, [&] { return ledger.lease(consumer, 1, kPlenty, now); });
  accepted(ledger.renew(consumer, now));
  accepted(ledger.suspect(producer, now));
  refused(Code::unavailable, [&] { return ledger.lease(consumer, 1, kPlenty, now); });
  read_all();
  accepted(ledger.renew(producer, now));
  EXPECT_EQ(news(consumer), Kinds{"offers_available"});
  EXPECT_EQ(lease(consumer, 1).size(), 1u);
}

TEST_F(LedgerClients, DeathOfTheHolderQuarantinesAndTellsTheProducer) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 2));
  const auto grants = lease(consumer, 2 * kSlab);
  read_all();
  accepted(ledger.dead(consumer, now));
  EXPECT_EQ(news(producer), (Kinds{"holder_dead", "holder_dead"}));
  for (const Grant& grant : grants) EXPECT_EQ(state(grant.slab), "quarantined");
  EXPECT_TRUE(ledger.pairs().empty());
  const ClientId next = join_consumer(3);
  refused(Code::unavailable, [&] { return ledger.lease(next, 1, kPlenty, now); });
  EXPECT_EQ(scrub(grants[0].slab), SlabState::offered);
  const Grant second = lease(next, 1).at(0);
  EXPECT_EQ(second.slab, grants[0].slab);
  EXPECT_EQ(second.generation, grants[0].generation + 1);
  EXPECT_NE(second.secret, grants[0].secret);
}

TEST_F(LedgerClients, DeathOfTheProducerOrphansWhatIsHeldAndDropsTheRest) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 4));
  const auto grants = lease(consumer, 3 * kSlab);
  give_back(consumer, grants[0]);
  read_all();
  accepted(ledger.dead(producer, now));
  EXPECT_EQ(news(consumer), (Kinds{"producer_gone", "producer_gone"}));
  EXPECT_EQ(ledger.slabs().size(), 2u);
  EXPECT_EQ(state(grants[1].slab), "orphaned");
  refused(Code::failed_precondition, [&] { return ledger.join(client_info(1, true, false), now); });
  refused(Code::failed_precondition, [&] { return ledger.leave(consumer, now); });
  give_back(consumer, grants[1]);
  EXPECT_EQ(state(grants[1].slab), "returned");
  refused(Code::not_found, [&] { return ledger.give_back(consumer, grants[1].slab, 1, now); });
  accepted(ledger.dead(consumer, now));
  EXPECT_TRUE(ledger.slabs().empty());
}

TEST_F(LedgerClients, LeavingInOrderNeedsEverythingBack) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 2));
  const Grant grant = lease(consumer, 1).at(0);
  refused(Code::failed_precondition, [&] { return ledger.leave(producer, now); });
  refused(Code::failed_precondition, [&] { return ledger.leave(consumer, now); });
  give_back(consumer, grant);
  accepted(ledger.leave(consumer, now));
  accepted(ledger.leave(producer, now));
  EXPECT_TRUE(ledger.slabs().empty());
  EXPECT_TRUE(ledger.clients().empty());
  EXPECT_EQ(ledger.next_deadline(), std::nullopt);
}

TEST_F(LedgerClients, JoiningAgainKeepsLeasesButNotAnotherDevice) {
  const ClientId producer = join_producer(1);
  const ClientId consumer = join_consumer(2);
  offer(producer, slabs(0, 1));
  const Grant grant = lease(consumer, 1).at(0);
  accepted(ledger.suspect(consumer, now));
  ClientInfo info = client_info(2, false, true);
  info.name = "renamed";
  join(info);
  EXPECT_EQ(ledger.clients().at(consumer).info.name, "renamed");
  EXPECT_EQ(state(grant.slab), "leased");
  info.device = make_id<DeviceTag>(0xde, 99);
  refused(Code::failed_precondition, [&] { return ledger.join(info, now); });
  give_back(consumer, grant);
  join(info);
  EXPECT_TRUE(ledger.pairs().empty());
}

}  // namespace
}  // namespace aqua::ledger::test
