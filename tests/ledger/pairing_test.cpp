// SPDX-License-Identifier: Apache-2.0
#include "tests/ledger/world.hpp"

namespace aqua::ledger::test {
namespace {

class LedgerPairing : public World {
 protected:
  LedgerPairing() : World(Limits{.client_ttl = Time{50'000}, .lease_ttl = Time{60'000}}) {
    small = join_producer(1);
    large = join_producer(2);
    consumer = join_consumer(3);
    other = join_consumer(4);
  }
  ClientId producer_of(const ClientId& who) { return ledger.pairs().at(who); }
  ClientId small, large, consumer, other;
};

TEST_F(LedgerPairing, TheLargestOfferIsChosenAndOfEqualsTheLowestId) {
  offer(small, slabs(0, 1));
  offer(large, slabs(0, 2));
  lease(consumer, 1);
  EXPECT_EQ(producer_of(consumer), large);
  lease(other, 1);
  EXPECT_EQ(producer_of(other), small);

  ledger = Ledger();
  for (const std::uint64_t n : {2u, 1u}) offer(join_producer(n), slabs(0, 1));
  join_consumer(3);
  lease(consumer, 1);
  EXPECT_EQ(producer_of(consumer), client_id(1));
}

TEST_F(LedgerPairing, OneProducerLendsToOneConsumer) {
  offer(large, slabs(0, 4));
  lease(consumer, 1);
  refused(Code::unavailable, [&] { return ledger.lease(other, 1, kPlenty, now); });
  offer(small, slabs(0, 1));
  EXPECT_EQ(lease(other, 1).at(0).slab.producer, small);
}

TEST_F(LedgerPairing, SharingLiftsThat) {
  ledger = Ledger(Limits{.share_producers = true});
  join_producer(1);
  join_consumer(3);
  join_consumer(4);
  offer(small, slabs(0, 2));
  lease(consumer, 1);
  lease(other, 1);
  EXPECT_EQ(ledger.pairs().size(), 2u);
}

TEST_F(LedgerPairing, EnginesOnOneDeviceLendToEachOtherOnlyWhereThatIsAllowed) {
  for (const bool allowed : {false, true}) {
    ledger = Ledger(Limits{.share_device = allowed});
    join_producer(1);
    offer(small, slabs(0, 1));
    ClientInfo info = client_info(3, false, true);
    info.device = client_info(1, true, false).device;
    join(info);
    if (allowed) {
      EXPECT_EQ(lease(info.id, 1).at(0).slab.producer, small);
    } else {
      refused(Code::unavailable, [&] { return ledger.lease(info.id, 1, kPlenty, now); });
    }
  }
}

TEST_F(LedgerPairing, OnlyDevicesThatCanShareMemoryArePaired) {
  offer(large, slabs(0, 4));
  const auto never = [&](ClientInfo info) {
    join(info);
    refused(Code::unavailable, [&] { return ledger.lease(info.id, 1, kPlenty, now); });
    refused(Code::failed_precondition, [&] { return ledger.pair(large, info.id); });
  };
  ClientInfo info = client_info(5, false, true);
  info.server = "elsewhere";
  never(info);
  info = client_info(6, false, true);
  info.domain = "elsewhere";
  never(info);
  info = client_info(7, false, true);
  info.device = client_info(2, true, false).device;
  never(info);
}

TEST_F(LedgerPairing, NobodyBorrowsFromItself) {
  const ClientId both = join(client_info(8, true, true));
  offer(both, slabs(0, 1));
  refused(Code::unavailable, [&] { return ledger.lease(both, 1, kPlenty, now); });
  refused(Code::invalid_argument, [&] { return ledger.pair(both, both); });
  EXPECT_EQ(lease(consumer, 1).at(0).slab.producer, both);
}

TEST_F(LedgerPairing, ExplicitPairsOverrideAndAreNotReplacedByLease) {
  offer(large, slabs(0, 2));
  lease(consumer, 1);
  read_all();
  accepted(ledger.pair(large, other));
  EXPECT_FALSE(ledger.pairs().contains(consumer));
  EXPECT_EQ(news(other), Kinds{"offers_available"});
  refused(Code::unavailable, [&] { return ledger.lease(consumer, 1, kPlenty, now); });
  lease(other, 1);
  accepted(ledger.pair(small, other));
  EXPECT_EQ(producer_of(other), small);
  refused(Code::unavailable, [&] { return ledger.lease(other, 1, kPlenty, now); });
  offer(large, slabs(5, 1));
  refused(Code::unavailable, [&] { return ledger.lease(other, 1, kPlenty, now); });
  accepted(ledger.unpair(other));
  refused(Code::not_found, [&] { return ledger.unpair(other); });
  EXPECT_EQ(lease(other, 1).at(0).slab.producer, large);
}

TEST_F(LedgerPairing, UnpairingAClientLeavesThePairsInWhichItLends) {
  std::vector<ClientId> engines;
  for (const std::uint64_t n : {11u, 12u, 13u}) engines.push_back(join(client_info(n, true, true)));
  accepted(ledger.pair(engines[0], engines[1]));
  accepted(ledger.pair(engines[1], engines[2]));
  read_all();
  accepted(ledger.unpair(engines[1]));
  EXPECT_EQ(ledger.pairs(), (std::map<ClientId, ClientId>{{engines[2], engines[1]}}));
  offer(engines[1], slabs(0, 1));
  EXPECT_EQ(news(other), Kinds{}) << "the producer is still taken";
  EXPECT_EQ(lease(engines[2], 1).at(0).slab.producer, engines[1]);
}

TEST_F(LedgerPairing, PairNeedsKnownClientsInTheirRoles) {
  refused(Code::not_found, [&] { return ledger.pair(client_id(9), consumer); });
  refused(Code::not_found, [&] { return ledger.pair(small, client_id(9)); });
  refused(Code::failed_precondition, [&] { return ledger.pair(consumer, other); });
  refused(Code::failed_precondition, [&] { return ledger.pair(small, large); });
}

TEST_F(LedgerPairing, AConsumerThatHoldsNothingOfAnEmptyProducerIsPairedAnew) {
  offer(large, slabs(0, 1));
  const Grant grant = lease(consumer, 1).at(0);
  offer(small, slabs(0, 1));
  refused(Code::unavailable, [&] { return ledger.lease(consumer, 1, kPlenty, now); });
  give_back(consumer, grant);
  EXPECT_EQ(lease(consumer, 1).at(0).slab.producer, small);
  EXPECT_EQ(producer_of(consumer), small);
}

TEST_F(LedgerPairing, TheEndOfASideDissolvesThePairAndTellsWhoGains) {
  offer(large, slabs(0, 2));
  const Grant grant = lease(consumer, 1).at(0);
  give_back(consumer, grant);
  read_all();
  accepted(ledger.leave(consumer, now));
  EXPECT_TRUE(ledger.pairs().empty());
  EXPECT_EQ(news(other), Kinds{"offers_available"});
  lease(other, 1);
  offer(small, slabs(0, 1));
  read_all();
  accepted(ledger.dead(large, now));
  EXPECT_TRUE(ledger.pairs().empty());
  EXPECT_EQ(news(other), (Kinds{"producer_gone", "offers_available"}));
}

TEST_F(LedgerPairing, OffersAreAnnouncedToThoseWhoWouldGain) {
  read_all();
  offer(large, slabs(0, 3));
  EXPECT_EQ(news(consumer), Kinds{"offers_available"});
  EXPECT_EQ(news(other), Kinds{"offers_available"});
  EXPECT_EQ(news(small), Kinds{});
  const Grant grant = lease(consumer, 1).at(0);
  give_back(consumer, grant);
  read_all();
  scrub(grant.slab);
  EXPECT_EQ(news(consumer), Kinds{"offers_available"});
  EXPECT_EQ(news(other), Kinds{}) << "the producer is taken";
}

}  // namespace
}  // namespace aqua::ledger::test
