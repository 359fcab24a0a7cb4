// SPDX-License-Identifier: Apache-2.0
#include "tests/ledger/world.hpp"

namespace aqua::ledger::test {
namespace {

class LedgerOffers : public World {
 protected:
  LedgerOffers() : World(Limits{.max_slabs_per_client = 4, .max_slab_bytes = kSlab}) {
    producer = join_producer(1);
    consumer = join_consumer(2);
  }
  void refuse_offer(Code code, const std::vector<OfferedSlab>& list) {
    refused(code, [&] { return ledger.offer(producer, list, now); });
  }
  ClientId producer, consumer;
};

TEST_F(LedgerOffers, NonsenseIsInvalidAndNothingOfTheBatchStays) {
  auto list = slabs(0, 3);
  list[2].bytes = 0;
  refuse_offer(Code::invalid_argument, list);
  list[2].bytes = kSlab + 1;
  refuse_offer(Code::invalid_argument, list);
  list = slabs(0, 2);
  list[1].index = 0;
  refuse_offer(Code::invalid_argument, list);
  list = slabs(0, 1);
  list[0].generation = 0;
  refuse_offer(Code::invalid_argument, list);
  list[0].generation = ~Generation{0};
  refuse_offer(Code::invalid_argument, list);
  list[0].generation = 1;
  list[0].holder = producer;
  refuse_offer(Code::invalid_argument, list);
  list[0].holder = ClientId{};
  refuse_offer(Code::invalid_argument, list);
  EXPECT_TRUE(ledger.slabs().empty());
}

TEST_F(LedgerOffers, OnlyProducersOfferAndOnlyUpToTheLimit) {
  refused(Code::failed_precondition, [&] { return ledger.offer(consumer, slabs(0, 1), now); });
  offer(producer, slabs(0, 3));
  refuse_offer(Code::resource_exhausted, slabs(3, 2));
  offer(producer, slabs(0, 4));  // three of these are known and agree
}

// Six slabs in all; the clients of a test are processes and users as it says.
class LedgerShares : public World {
 protected:
  LedgerShares() : World(Limits{.max_slabs = 6}) {}
  ClientId join_as(std::uint64_t n, std::int64_t pid, std::uint32_t uid) {
    ClientInfo info = client_info(n, true, false);
    info.pid = pid;
    info.started = 1;
    info.uid = uid;
    return join(info);
  }
  void refuse(const ClientId& producer, std::uint32_t first, std::uint32_t count) {
    refused(Code::resource_exhausted,
            [&] { return ledger.offer(producer, slabs(first, count), now); });
  }
};

TEST_F(LedgerShares, OneProcessPutsUpHalfOfAllSlabsAtMost) {
  const ClientId first = join_as(1, 77, 1000);
  const ClientId second = join_as(2, 77, 1000);
  offer(first, slabs(0, 2));
  refuse(second, 0, 2);
  offer(second, slabs(0, 1));
  offer(first, slabs(0, 2));  // known, so that it adds nothing
  offer(join_as(3, 78, 1000), slabs(0, 1));
  accepted(ledger.leave(second, now));
  offer(first, slabs(2, 1));
}

TEST_F(LedgerShares, OneUserThreeQuarters) {
  offer(join_as(1, 77, 1000), slabs(0, 3));
  const ClientId second = join_as(2, 78, 1000);
  refuse(second, 0, 3);
  offer(second, slabs(0, 2));
  refuse(second, 2, 1);
  offer(join_as(3, 79, 1001), slabs(0, 1));
}

TEST_F(LedgerShares, OfClientsWhoseProcessAndUserAreNotKnownTheSumAloneIsLimited) {
  const ClientId first = join_producer(1);
  offer(first, slabs(0, 4));
  const ClientId consumer = join_consumer(2);
  lease(consumer, 4 * kSlab);
  accepted(ledger.dead(first, now));
  const ClientId second = join_producer(3);
  refuse(second, 0, 3);  // orphans are slabs, too
  offer(second, slabs(0, 2));
  refuse(second, 2, 1);
}

TEST_F(LedgerOffers, MoreBytesThanCanBeCountedAreExhausted) {
  ledger = Ledger(Limits{.max_slab_bytes = ~std::uint64_t{0}});
  join_producer(1);
  offer(producer, slabs(0, 1, ~std::uint64_t{0} - kSlab));
  offer(producer, slabs(1, 1, kSlab));
  refuse_offer(Code::resource_exhausted, slabs(2, 1, 1));
}

TEST_F(LedgerOffers, OfferingAgainIsFineWhileTheRowAgrees) {
  offer(producer, slabs(0, 2));
  read_all();
  offer(producer, slabs(0, 2));
  EXPECT_EQ(news(consumer), Kinds{}) << "nothing is new";
  auto other = slabs(0, 2);
  other[1].bytes = kMiB;
  refuse_offer(Code::already_exists, other);
  other = slabs(0, 2);
  other[1].generation = 2;
  refuse_offer(Code::already_exists, other);
  other = slabs(0, 2);
  other[1].secret = secret(77);
  refuse_offer(Code::already_exists, other);
  other = slabs(0, 2);
  other[1].holder = consumer;
  refuse_offer(Code::already_exists, other);
}

TEST_F(LedgerOffers, WithdrawTakesAllOrNothing) {
  offer(producer, slabs(0, 3));
  const Grant grant = lease(consumer, 1).at(0);
  ASSERT_EQ(grant.slab.index, 0u);
  const auto withdraw = [&](std::vector<std::uint32_t> indexes) {
    return [this, indexes] { return ledger.withdraw(producer, indexes, now); };
  };
  refused(Code::failed_precondition, withdraw({1, 0, 2}));
  refused(Code::not_found, withdraw({1, 9}));
  refused(Code::invalid_argument, withdraw({1, 1}));
  accepted(withdraw({1, 2})());
  EXPECT_EQ(ledger.slabs().size(), 1u);
  give_back(consumer, grant);
  accepted(withdraw({0})());
  EXPECT_TRUE(ledger.slabs().empty());
}

TEST_F(LedgerOffers, AScrubNamesTheGenerationThatEnded) {
  offer(producer, slabs(0, 1));
  const Grant grant = lease(consumer, 1).at(0);
  const auto scrub_generation = [&](Generation done) {
    return [this, done] { return ledger.scrubbed(producer, 0, done, secret(5), now); };
  };
  refused(Code::aborted, scrub_generation(0));
  refused(Code::aborted, scrub_generation(2));
  refused(Code::not_found, [&] { return ledger.scrubbed(producer, 1, 1, secret(5), now); });
  refused(Code::not_found, [&] { return ledger.scrubbed(consumer, 0, 1, secret(5), now); });
  give_back(consumer, grant);
  accepted(scrub_generation(1)());
  refused(Code::aborted, scrub_generation(1));
  refused(Code::failed_precondition, scrub_generation(2));
}

TEST_F(LedgerOffers, ManyScrubsAtOnceAnnounceOnce) {
  offer(producer, slabs(0, 4));
  std::vector<Scrub> scrubs;
  for (const Grant& grant : lease(consumer, 4 * kSlab)) {
    give_back(consumer, grant);
    scrubs.push_back({grant.slab.index, grant.generation, secret(100 + grant.slab.index)});
  }
  ASSERT_EQ(scrubs.size(), 4u);
  scrubs[1].done = 7;
  read_all();
  const auto results = ledger.scrubbed(producer, scrubs, now);
  EXPECT_EQ(ledger.check_invariants(), "");
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[1].error().code, Code::aborted);
  for (const std::size_t i : {0u, 2u, 3u}) EXPECT_EQ(results[i].value(), SlabState::offered);
  EXPECT_EQ(news(consumer), Kinds{"offers_available"});
}

TEST_F(LedgerOffers, AScrubOfAHeldSlabMakesTheHoldersReturnStale) {
  offer(producer, slabs(0, 1));
  const Grant grant = lease(consumer, 1).at(0);
  EXPECT_EQ(scrub(grant.slab), SlabState::offered);
  refused(Code::aborted, [&] { return ledger.give_back(consumer, grant.slab, 1, now); });
  const Grant again = lease(consumer, 1).at(0);
  reclaim(producer, kSlab, Time{100});
  EXPECT_EQ(scrub(grant.slab), SlabState::returned);
  refused(Code::not_found,
          [&] { return ledger.give_back(consumer, again.slab, again.generation, now); });
}

}  // namespace
}  // namespace aqua::ledger::test
