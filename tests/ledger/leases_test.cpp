// SPDX-License-Identifier: Apache-2.0
#include "tests/ledger/world.hpp"

namespace aqua::ledger::test {
namespace {

class LedgerLeases : public World {
 protected:
  LedgerLeases() {
    producer = join_producer(1);
    consumer = join_consumer(2);
  }
  std::vector<std::uint64_t> sizes(std::uint64_t bytes, std::uint64_t exit_bytes) {
    std::vector<std::uint64_t> got;
    for (const Grant& g : accepted(ledger.lease(consumer, bytes, exit_bytes, now))) {
      got.push_back(g.bytes / kMiB);
    }
    return got;
  }
  using Sizes = std::vector<std::uint64_t>;
  ClientId producer, consumer;
};

TEST_F(LedgerLeases, WithoutAnyOfferItIsUnavailable) {
  refused(Code::unavailable, [&] { return ledger.lease(consumer, kSlab, kPlenty, now); });
  refused(Code::invalid_argument, [&] { return ledger.lease(consumer, 0, kPlenty, now); });
  refused(Code::failed_precondition, [&] { return ledger.lease(producer, 1, kPlenty, now); });
}

TEST_F(LedgerLeases, AGrantSaysAllThatIsNeededToFetch) {
  offer(producer, slabs(3, 1));
  read_all();
  const Grant grant = lease(consumer, kSlab).at(0);
  EXPECT_EQ(grant.slab, (SlabId{producer, 3}));
  EXPECT_EQ(grant.bytes, kSlab);
  EXPECT_EQ(grant.generation, 1u);
  EXPECT_EQ(grant.secret, secret(3));
  EXPECT_EQ(grant.exchange, "/run/1");
  EXPECT_EQ(grant.expires, now + Time{5000});
  EXPECT_EQ(news(producer), Kinds{"granted"});
}

TEST_F(LedgerLeases, WholeSlabsCoverTheBytesAndOnlyTheLastGoesOver) {
  offer(producer, slabs(0, 3));
  EXPECT_EQ(sizes(kSlab + 1, kPlenty), (Sizes{64, 64}));
  EXPECT_EQ(sizes(10 * kSlab, kPlenty), (Sizes{64}));
  refused(Code::unavailable, [&] { return ledger.lease(consumer, 1, kPlenty, now); });
}

TEST_F(LedgerLeases, TheLargestSlabThatIsNotTooMuchGoesFirst) {
  offer(producer, slabs(0, 2, 64 * kMiB));
  offer(producer, slabs(2, 2, 2 * kMiB));
  offer(producer, slabs(4, 1, 16 * kMiB));
  EXPECT_EQ(sizes(20 * kMiB, kPlenty), (Sizes{16, 2, 2}));
  EXPECT_EQ(sizes(1, kPlenty), (Sizes{64}));
}

TEST_F(LedgerLeases, LeasesNeverExceedTheExits) {
  offer(producer, slabs(0, 4));
  refused(Code::failed_precondition, [&] { return ledger.lease(consumer, 1, kSlab - 1, now); });
  EXPECT_EQ(sizes(4 * kSlab, 2 * kSlab + 1), (Sizes{64, 64}));
  refused(Code::failed_precondition, [&] { return ledger.lease(consumer, 1, 3 * kSlab - 1, now); });
  refused(Code::failed_precondition, [&] { return ledger.lease(consumer, 1, 0, now); });
  EXPECT_EQ(sizes(~std::uint64_t{0}, ~std::uint64_t{0}), (Sizes{64, 64}));
}

TEST_F(LedgerLeases, TheRefusalNamesTheNumbers) {
  offer(producer, slabs(0, 2));
  lease(consumer, kSlab);
  const auto result = ledger.lease(consumer, 1, kSlab + 5, now);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::failed_precondition);
  for (const std::uint64_t number : {kSlab + 5, kSlab}) {
    EXPECT_NE(result.error().message.find(concat(number)), std::string::npos)
        << result.error().message;
  }
}

TEST_F(LedgerLeases, RemembersWhyAConsumerWasRefusedUntilItIsGranted) {
  const auto refusal = [&] { return ledger.clients().at(consumer).refused; };
  EXPECT_FALSE(refusal());
  refused(Code::unavailable, [&] { return ledger.lease(consumer, kSlab, kPlenty, now); });
  ASSERT_TRUE(refusal());
  EXPECT_EQ(refusal()->why.code, Code::unavailable);
  EXPECT_EQ(refusal()->why.message, "nothing is offered to it now; nobody within reach lends");
  EXPECT_EQ(refusal()->at, now);
  offer(producer, slabs(0, 2));
  pass(Time{5});
  refused(Code::failed_precondition, [&] { return ledger.lease(consumer, 1, 0, now); });
  EXPECT_EQ(refusal()->why.code, Code::failed_precondition);
  EXPECT_EQ(refusal()->at, now);
  lease(consumer, kSlab);
  EXPECT_FALSE(refusal());
}

TEST_F(LedgerLeases, ARefusalCountsWhatKeepsEachLenderFromIt) {
  const auto why = [&] {
    const auto granted = ledger.lease(consumer, 1, kPlenty, now);
    const std::string& said = granted.ok() ? "granted" : granted.error().message;
    return said.substr(said.rfind("; ") + 2);
  };
  offer(producer, slabs(0, 1));
  lease(join_consumer(7), kSlab);
  for (const std::uint64_t n : {3U, 4U, 6U}) offer(join_producer(n), slabs(0, 1));
  join_producer(5);
  ClientInfo far = client_info(8, true, false);
  far.domain = "elsewhere";
  offer(join(far), slabs(0, 1));
  accepted(ledger.suspect(client_id(3), now));
  accepted(ledger.drain(client_id(4), true));
  accepted(ledger.pair(client_id(6), join_consumer(9)));
  EXPECT_EQ(why(),
            "of 4 lenders within reach 1 drained, 1 silent, 1 that a pair keeps from it, 1 with "
            "nothing free");
}

TEST_F(LedgerLeases, OrphansNeedNoExit) {
  offer(producer, slabs(0, 1));
  lease(consumer, 1);
  accepted(ledger.dead(producer, now));
  const ClientId next = join_producer(3);
  offer(next, slabs(0, 1));
  EXPECT_EQ(sizes(1, kSlab), (Sizes{64}));
}

TEST_F(LedgerLeases, OnlyTheHolderReturnsAndOnlyOnce) {
  offer(producer, slabs(0, 2));
  const ClientId other = join_consumer(3);
  const Grant grant = lease(consumer, 1).at(0);
  const auto back = [&](const ClientId& who, const SlabId& slab, Generation generation) {
    return [=, this] { return ledger.give_back(who, slab, generation, now); };
  };
  refused(Code::not_found, back(client_id(9), grant.slab, 1));
  refused(Code::not_found, back(consumer, {producer, 9}, 1));
  refused(Code::aborted, back(consumer, grant.slab, 0));
  refused(Code::aborted, back(other, grant.slab, 2));
  refused(Code::permission_denied, back(other, grant.slab, 1));
  refused(Code::permission_denied, back(producer, grant.slab, 1));
  refused(Code::failed_precondition, back(consumer, {producer, 1}, 1));
  read_all();
  give_back(consumer, grant);
  EXPECT_EQ(news(producer), Kinds{"returned"});
  refused(Code::failed_precondition, back(consumer, grant.slab, 1));
  scrub(grant.slab);
  refused(Code::aborted, back(consumer, grant.slab, 1));
}

}  // namespace
}  // namespace aqua::ledger::test
