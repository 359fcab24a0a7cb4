// SPDX-License-Identifier: Apache-2.0
// Idempotency keys: done once, answered the same, refused for another request, and bounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "tests/coordinator/in_memory.hpp"
#include "wire/slabs.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Replay : ::testing::Test {
  Replay() {
    join(producer, true);
    join(consumer, false);
    wire::OfferRequest offer;
    for (std::uint32_t i = 0; i < 4; ++i)
      offer.slabs.push_back({i, 4096, 1, random_id<LeaseTag>(), {}});
    EXPECT_EQ(status_of_reply(http.ask("POST", "/v1/offers", lender, wire::encode(offer))), 200);
  }
  void join(const ClientId& id, bool lends) {
    wire::JoinRequest request;
    request.info.id = id;
    request.info.device = random_id<DeviceTag>();
    request.info.producer = lends;
    request.info.consumer = !lends;
    const std::string& who = lends ? lender : borrower;
    EXPECT_EQ(status_of_reply(http.ask("POST", "/v1/clients", who, wire::encode(request))), 200);
  }
  std::string lease(const std::string& key, const std::string& body) {
    return http.ask("POST", "/v1/leases", borrower + "Idempotency-Key: " + key + "\r\n", body);
  }
  std::size_t held() {
    return http.service.with([](ledger::Ledger& ledger, ledger::Time) {
      std::size_t count = 0;
      for (const auto& [id, slab] : ledger.slabs()) count += slab.holder ? 1U : 0U;
      return count;
    });
  }

  InMemory http;
  const ClientId producer = random_id<ClientTag>();
  const ClientId consumer = random_id<ClientTag>();
  const std::string lender = http.session(producer);
  const std::string borrower = http.session(consumer);
  const std::string one = R"({"bytes":4096,"exit_bytes":16384})";
};

TEST_F(Replay, SentAgainIsAnsweredWithTheSameBytesAndDoneOnce) {
  const std::string first = lease("key-1", one);
  ASSERT_EQ(status_of_reply(first), 200);
  EXPECT_THAT(first, Not(HasSubstr("Idempotency-Replayed")));
  const std::string again = lease("key-1", one);
  EXPECT_EQ(body_of_reply(again), body_of_reply(first));
  EXPECT_THAT(again, HasSubstr("Idempotency-Replayed: true"));
  EXPECT_EQ(held(), 1U);
  EXPECT_EQ(status_of_reply(lease("key-2", one)), 200);
  EXPECT_EQ(held(), 2U);
}

TEST_F(Replay, KeyOfAnotherRequestIsRefused) {
  ASSERT_EQ(status_of_reply(lease("key", one)), 200);
  const std::string reply = lease("key", R"({"bytes":8192,"exit_bytes":16384})");
  EXPECT_EQ(status_of_reply(reply), 409);
  EXPECT_EQ(wire::decode<wire::Problem>(body_of_reply(reply))->error.code, Code::already_exists);
  EXPECT_EQ(held(), 1U);
}

TEST_F(Replay, KeyOfAnotherClientIsAnother) {
  ASSERT_EQ(status_of_reply(lease("key", one)), 200);
  const std::string reply = http.ask("POST", "/v1/reclaims", lender + "Idempotency-Key: key\r\n",
                                     R"({"bytes":4096,"within_ms":1000})");
  EXPECT_EQ(status_of_reply(reply), 200);
}

TEST_F(Replay, FailureIsTriedAgain) {
  EXPECT_EQ(status_of_reply(lease("key", R"({"bytes":4096,"exit_bytes":1})")), 409);
  EXPECT_EQ(status_of_reply(lease("key", one)), 200);
}

// The change is made when memory ends: another reclaim would find nothing left to want.
TEST_F(Replay, WhatMayHaveBeenDoneIsNotDoneAgainWhereItsReplyCouldNotBeMade) {
  int done = 0;
  const coordinator::Handler handler = [&](const coordinator::Call&) -> coordinator::Reply {
    ++done;
    throw std::bad_alloc();
  };
  http.router.add({"POST", "/test", coordinator::Access::session, once(http.api(), handler)});
  for (int i = 0; i < 2; ++i) {
    const std::string reply =
        http.ask("POST", "/test", borrower + "Idempotency-Key: key\r\n", "{}");
    EXPECT_EQ(status_of_reply(reply), 500);
    EXPECT_EQ(wire::decode<wire::Problem>(body_of_reply(reply))->error.code, Code::internal);
  }
  EXPECT_EQ(done, 1);
}

TEST_F(Replay, BadKeysAreRefused) {
  for (const std::string& key : {std::string(65, 'k'), std::string("a b"), std::string("a\"b")})
    EXPECT_EQ(status_of_reply(lease(key, one)), 400) << key;
}

TEST(ReplayBook, MemoryIsBoundedAndTheOldestGoFirst) {
  coordinator::ReplayBook book({.keys_per_client = 8, .bytes = 10'000});
  const auto client = random_id<ClientTag>();
  const coordinator::Digest asked{};
  for (int i = 0; i < 100; ++i) {
    const std::string key = std::to_string(i);
    ASSERT_FALSE(book.begin(client, key, asked)->has_value());
    book.finish(client, key, asked, std::string(100, 'x'));
  }
  EXPECT_FALSE(book.begin(client, "91", asked)->has_value());
  EXPECT_TRUE(book.begin(client, "92", asked)->has_value());
  for (int i = 0; i < 1000; ++i) {
    const auto other = random_id<ClientTag>();
    ASSERT_TRUE(book.begin(other, "k", asked).ok());
    book.finish(other, "k", asked, std::string(1000, 'x'));
    ASSERT_LE(book.bytes(), 10'000U);
  }
  EXPECT_FALSE(book.begin(client, "99", asked)->has_value());
}

TEST(ReplayBook, OneUnderWayIsNotBegunTwice) {
  coordinator::ReplayBook book;
  const auto client = random_id<ClientTag>();
  ASSERT_TRUE(book.begin(client, "k", {}).ok());
  EXPECT_EQ(book.begin(client, "k", {}).error().code, Code::unavailable);
  book.abandon(client, "k");
  EXPECT_TRUE(book.begin(client, "k", {}).ok());
}

}  // namespace
}  // namespace aqua::testing
