// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/ledger_service.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "tests/coordinator/service/ledger_clients.hpp"

namespace aqua::coordinator {
namespace {

using ledger::Ledger;
using ledger::Time;
using std::chrono::milliseconds;

constexpr milliseconds kLongTtl{60'000};

bool in_session() {
  return true;
}

struct LedgerServiceTest : ::testing::Test {
  LedgerService service{ledger::Limits{}, 2};

  ClientId join(bool producer) { return aqua::testing::join_ledger(service, producer); }
  void offer(const ClientId& producer, std::uint32_t index) {
    const std::vector<ledger::OfferedSlab> slabs{
        {.index = index, .bytes = 1, .generation = 1, .secret = {}, .holder = {}}};
    EXPECT_TRUE(
        service.with([&](Ledger& ledger, Time now) { return ledger.offer(producer, slabs, now); })
            .ok());
  }
  std::future<Result<wire::WatchReply>> watch(const ClientId& client, std::uint64_t after) {
    return std::async(std::launch::async,
                      [=, this] { return service.watch(client, after, kLongTtl, in_session); });
  }
};

TEST_F(LedgerServiceTest, WatchWithoutAStartIsASnapshotAtOnce) {
  const auto producer = join(true);
  offer(producer, 0);
  const auto reply = service.watch(producer, std::nullopt, kLongTtl, in_session);
  ASSERT_TRUE(reply.ok());
  ASSERT_TRUE(reply->snapshot);
  EXPECT_EQ(reply->snapshot->own.size(), 1U);
  EXPECT_EQ(reply->last_event, reply->snapshot->last_event);
}

TEST_F(LedgerServiceTest, WatchFromAForgottenOrFutureEventIsASnapshot) {
  const auto consumer = join(false);
  const auto reply = service.watch(consumer, 1'000'000, kLongTtl, in_session);
  ASSERT_TRUE(reply.ok());
  EXPECT_TRUE(reply->snapshot);
}

TEST_F(LedgerServiceTest, EventEndsTheWatchThatItConcerns) {
  const auto producer = join(true);
  const auto consumer = join(false);
  auto waiting =
      watch(consumer, service.with([](Ledger& ledger, Time) { return ledger.last_event(); }));
  offer(producer, 0);
  const auto reply = waiting.get();
  ASSERT_TRUE(reply.ok());
  ASSERT_EQ(reply->events.size(), 1U);
  EXPECT_EQ(reply->events[0].kind, ledger::EventKind::offers_available);
}

TEST_F(LedgerServiceTest, TimeoutIsAnEmptyReply) {
  const auto consumer = join(false);
  const auto last = service.with([](Ledger& ledger, Time) { return ledger.last_event(); });
  const auto reply = service.watch(consumer, last, milliseconds{1}, in_session);
  ASSERT_TRUE(reply.ok());
  EXPECT_TRUE(reply->events.empty());
  EXPECT_FALSE(reply->snapshot);
}

TEST_F(LedgerServiceTest, NewerWatchOfAClientEndsTheOlder) {
  const auto consumer = join(false);
  const auto last = service.with([](Ledger& ledger, Time) { return ledger.last_event(); });
  auto first = watch(consumer, last);
  auto second = watch(consumer, last);
  // Whichever came second supersedes the other; ending it frees the last one.
  while (first.wait_for(milliseconds{0}) != std::future_status::ready &&
         second.wait_for(milliseconds{0}) != std::future_status::ready) {
    std::this_thread::yield();
  }
  service.end_watch(consumer);
  const auto one = first.get();
  const auto other = second.get();
  EXPECT_NE(one.ok(), other.ok());
  EXPECT_EQ((one.ok() ? other : one).error().code, Code::permission_denied);
}

TEST_F(LedgerServiceTest, AWatchThatComesAfterItsSessionsEndDoesNotWait) {
  const auto consumer = join(false);
  const auto last = service.with([](Ledger& ledger, Time) { return ledger.last_event(); });
  service.end_watch(consumer);  // nothing waits yet
  const auto late = service.watch(consumer, last, kLongTtl, [] { return false; });
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Code::permission_denied);
}

TEST_F(LedgerServiceTest, StopEndsWatchesNowAndLater) {
  const auto consumer = join(false);
  const auto last = service.with([](Ledger& ledger, Time) { return ledger.last_event(); });
  auto waiting = watch(consumer, last);
  service.stop();
  EXPECT_EQ(waiting.get().error().code, Code::unavailable);
  EXPECT_EQ(service.watch(consumer, last, kLongTtl, in_session).error().code, Code::unavailable);
}

TEST(LedgerServiceTime, WhatTimeAloneBringsAboutIsToldWithoutAnybodyAsking) {
  ledger::Limits limits;
  limits.client_ttl = Time{20};
  limits.lease_ttl = Time{20};
  LedgerService service(limits, 2);
  const ledger::ClientInfo producer = aqua::testing::some_client(true);
  ASSERT_TRUE(
      service.with([&](Ledger& ledger, Time now) { return ledger.join(producer, now); }).ok());
  const ledger::ClientInfo consumer = aqua::testing::some_client(false);
  const std::vector<ledger::OfferedSlab> slabs{
      {.index = 0, .bytes = 1, .generation = 1, .secret = {}, .holder = {}}};
  const auto last = service.with([&](Ledger& ledger, Time now) {
    EXPECT_TRUE(ledger.join(consumer, now).ok());
    EXPECT_TRUE(ledger.offer(producer.id, slabs, now).ok());
    EXPECT_TRUE(ledger.lease(consumer.id, 1, 1, now).ok());
    EXPECT_TRUE(ledger.reclaim(producer.id, 1, now + Time{30}, now).ok());
    return ledger.last_event();
  });
  const auto reply = service.watch(producer.id, last, kLongTtl, in_session);
  ASSERT_TRUE(reply.ok());
  ASSERT_FALSE(reply->events.empty());
  EXPECT_EQ(reply->events[0].kind, ledger::EventKind::reclaim_done);
}

}  // namespace
}  // namespace aqua::coordinator
