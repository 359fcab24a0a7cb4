// SPDX-License-Identifier: Apache-2.0
// Every call of southbound::Client against a real coordinator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/token_file.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"
#include "wire/limits.hpp"

namespace aqua::testing {
namespace {

using ledger::EventKind;
using ledger::SlabState;
using std::chrono::milliseconds;

struct Calls : ::testing::Test {
  DaemonProcess daemon;
  Peer producer{daemon.address(), "producer", true};
  Peer consumer{daemon.address(), "consumer", false};
  const std::vector<ledger::OfferedSlab> slabs = some_slabs(3);

  std::vector<ledger::Grant> lend(std::uint64_t count) {
    const auto offered = producer.client->offer(slabs);
    EXPECT_TRUE(offered.ok()) << offered.error().message;
    auto grants = consumer.client->lease(count * kSlabBytes, count * kSlabBytes);
    EXPECT_TRUE(grants.ok()) << grants.error().message;
    return std::move(grants).value();
  }
};

TEST_F(Calls, LeaseCarriesWhatTheProducerOffered) {
  const auto grants = lend(2);
  ASSERT_EQ(grants.size(), 2U);
  for (const auto& grant : grants) {
    EXPECT_EQ(grant.slab.producer, producer.id);
    EXPECT_EQ(grant.bytes, kSlabBytes);
    EXPECT_EQ(grant.generation, 1U);
    EXPECT_EQ(grant.secret, slabs.at(grant.slab.index).secret);
    EXPECT_EQ(grant.exchange, "/tmp/exchange.sock");
    const auto left = grant.expires - std::chrono::duration_cast<ledger::Time>(
                                          std::chrono::steady_clock::now().time_since_epoch());
    EXPECT_GT(left, milliseconds{0});
    EXPECT_LE(left, milliseconds{5000});
  }
  const auto granted = producer.heard.wait_event(EventKind::granted);
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->slab.producer, producer.id);
}

TEST_F(Calls, AnOfferMayBeForOneSessionOnly) {
  const std::uint64_t now = producer.heard.sessions().back().number;
  EXPECT_EQ(producer.client->offer(slabs, now + 1).error().code, Code::unavailable);
  EXPECT_TRUE(producer.client->snapshot()->own.empty());
  EXPECT_TRUE(producer.client->offer(slabs, now).ok());
  EXPECT_EQ(producer.client->snapshot()->own.size(), slabs.size());
}

TEST_F(Calls, OfferIsHeardByConsumersThatWait) {
  EXPECT_EQ(consumer.client->lease(kSlabBytes, kSlabBytes).error().code, Code::unavailable);
  ASSERT_TRUE(producer.client->offer(slabs).ok());
  EXPECT_TRUE(consumer.heard.wait_event(EventKind::offers_available));
}

TEST_F(Calls, ReturnedSlabIsScrubbedAndLentAgainWithTheNextGeneration) {
  const auto grants = lend(1);
  const wire::Return back{grants[0].slab, grants[0].generation};
  const auto returned = consumer.client->give_back({&back, 1});
  ASSERT_TRUE(returned.ok());
  ASSERT_TRUE(returned->at(0).ok());
  const auto heard = producer.heard.wait_event(EventKind::returned);
  ASSERT_TRUE(heard);
  const wire::Scrub scrub{heard->slab.index, heard->generation, random_id<LeaseTag>()};
  const auto scrubbed = producer.client->scrubbed({&scrub, 1});
  ASSERT_TRUE(scrubbed.ok());
  EXPECT_EQ(scrubbed->at(0).value(), SlabState::offered);
  const auto again = consumer.client->lease(3 * kSlabBytes, 3 * kSlabBytes);
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again->size(), 3U);
  const auto same = std::find_if(again->begin(), again->end(),
                                 [&](const auto& grant) { return grant.slab == heard->slab; });
  ASSERT_NE(same, again->end());
  EXPECT_EQ(same->generation, 2U);
  EXPECT_EQ(same->secret, scrub.next_secret);
}

TEST_F(Calls, EachReturnHasItsOwnResult) {
  const auto grants = lend(2);
  const std::vector<wire::Return> back{{grants[0].slab, grants[0].generation + 5},
                                       {grants[1].slab, grants[1].generation},
                                       {{producer.id, 99}, 1}};
  const auto returned = consumer.client->give_back(back);
  ASSERT_TRUE(returned.ok());
  ASSERT_EQ(returned->size(), 3U);
  EXPECT_EQ(returned->at(0).error().code, Code::aborted);
  EXPECT_TRUE(returned->at(1).ok());
  EXPECT_EQ(returned->at(2).error().code, Code::not_found);
}

TEST_F(Calls, ReclaimTakesFreeSlabsAtOnceAndRevokesTheRest) {
  const auto grants = lend(1);
  const auto start = producer.client->reclaim(3 * kSlabBytes, milliseconds{60000});
  ASSERT_TRUE(start.ok()) << start.error().message;
  EXPECT_EQ(start->withdrawn.size(), 2U);
  EXPECT_FALSE(start->reclaim.done);
  const auto revoke = consumer.heard.wait_event(EventKind::revoke);
  ASSERT_TRUE(revoke);
  EXPECT_EQ(revoke->slab, grants[0].slab);
  EXPECT_EQ(revoke->reclaim, start->reclaim.id);
  // Told in this process's own clock, give or take the milliseconds on the way.
  EXPECT_NEAR(static_cast<double>((revoke->deadline - start->reclaim.deadline).count()), 0, 2000);
  const wire::Return back{grants[0].slab, grants[0].generation};
  ASSERT_TRUE(consumer.client->give_back({&back, 1})->at(0).ok());
  ASSERT_TRUE(producer.heard.wait_event(EventKind::returned));
  const wire::Scrub scrub{grants[0].slab.index, 1, random_id<LeaseTag>()};
  EXPECT_EQ(producer.client->scrubbed({&scrub, 1})->at(0).value(), SlabState::returned);
  ASSERT_TRUE(producer.heard.wait_event(EventKind::reclaim_done));
  const auto status = producer.client->reclaim_status(start->reclaim.id);
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(status->done);
  EXPECT_EQ(status->bytes_returned, 3 * kSlabBytes);
}

TEST_F(Calls, ReclaimOfAnotherClientIsNotFound) {
  ASSERT_TRUE(producer.client->offer(slabs).ok());
  const auto start = producer.client->reclaim(kSlabBytes, milliseconds{1000});
  ASSERT_TRUE(start.ok());
  EXPECT_EQ(consumer.client->reclaim_status(start->reclaim.id).error().code, Code::not_found);
}

TEST_F(Calls, WithdrawIsAllOrNothing) {
  const auto grants = lend(1);
  const std::vector<std::uint32_t> all{0, 1, 2};
  EXPECT_EQ(producer.client->withdraw(all).error().code, Code::failed_precondition);
  EXPECT_EQ(producer.client->snapshot()->own.size(), 3U);
  std::vector<std::uint32_t> free{0, 1, 2};
  std::erase(free, grants[0].slab.index);
  EXPECT_TRUE(producer.client->withdraw(free).ok());
  EXPECT_EQ(producer.client->snapshot()->own.size(), 1U);
}

TEST_F(Calls, OfferLongerThanABatchArrivesWhole) {
  const auto many = some_slabs(static_cast<std::uint32_t>(wire::kMaxBatch) + 10);
  const auto offered = producer.client->offer(many);
  ASSERT_TRUE(offered.ok()) << offered.error().message;
  EXPECT_EQ(producer.client->snapshot()->own.size(), many.size());
}

TEST_F(Calls, SnapshotTellsOwnSlabsAndHeldLeasesWithTheirSecrets) {
  const auto grants = lend(1);
  const auto held = consumer.client->snapshot();
  ASSERT_TRUE(held.ok());
  ASSERT_EQ(held->held.size(), 1U);
  EXPECT_EQ(held->held[0].grant.secret, grants[0].secret);
  EXPECT_EQ(held->held[0].grant.exchange, "/tmp/exchange.sock");
  EXPECT_EQ(held->held[0].state, SlabState::leased);
  const auto own = producer.client->snapshot();
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->own.size(), 3U);
  EXPECT_TRUE(own->held.empty());
}

TEST_F(Calls, StateTellsEverybodyToClientsAndOperators) {
  lend(2);
  const auto seen = consumer.client->state();
  ASSERT_TRUE(seen.ok());
  EXPECT_EQ(seen->clients.size(), 2U);
  EXPECT_EQ(seen->slabs.size(), 3U);
  const auto from_outside = admin::fetch_state(daemon.address());
  ASSERT_TRUE(from_outside.ok()) << from_outside.error().message;
  EXPECT_EQ(from_outside->pairs, (std::vector<wire::Pair>{{producer.id, consumer.id}}));
}

TEST_F(Calls, OperatorSetsAndRemovesPairs) {
  const wire::Pair pair{producer.id, consumer.id};
  ASSERT_TRUE(admin::set_pair(daemon.address(), pair).ok());
  EXPECT_EQ(admin::fetch_state(daemon.address())->pairs, std::vector<wire::Pair>{pair});
  ASSERT_TRUE(admin::remove_pair(daemon.address(), consumer.id).ok());
  EXPECT_EQ(admin::remove_pair(daemon.address(), consumer.id).error().code, Code::not_found);
}

TEST_F(Calls, LedgersRefusalArrivesWithItsCode) {
  EXPECT_EQ(producer.client->lease(kSlabBytes, kSlabBytes).error().code, Code::failed_precondition);
  EXPECT_EQ(producer.client->reclaim(0, milliseconds{1000}).error().code, Code::invalid_argument);
}

TEST(CallsOverTcp, EverythingWorksWithATokenAndNothingWithout) {
  DaemonProcess daemon({"--listen", "127.0.0.1:0"});
  EXPECT_EQ(admin::fetch_info(daemon.address()).error().code, Code::permission_denied);
  const TokenFile token(daemon, "engine");
  Peer producer(daemon.address(), "producer", true);
  Peer consumer(daemon.address(), "consumer", false);
  ASSERT_TRUE(producer.client->offer(some_slabs(1)).ok());
  EXPECT_TRUE(consumer.client->lease(kSlabBytes, kSlabBytes).ok());
  EXPECT_TRUE(consumer.client->state().ok());
  // An engine is no operator.
  EXPECT_EQ(admin::set_pair(daemon.address(), {producer.id, consumer.id}).error().code,
            Code::permission_denied);
  const TokenFile stronger(daemon, "operator");
  EXPECT_TRUE(admin::set_pair(daemon.address(), {producer.id, consumer.id}).ok());
}

}  // namespace
}  // namespace aqua::testing
