// SPDX-License-Identifier: Apache-2.0
// What people and their tools see of a real daemon, held against what was done to its ledger.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/observe/exposition.hpp"
#include "tests/coordinator/raw_session.hpp"
#include "tests/southbound/peers.hpp"
#include "wire/observation.hpp"

namespace aqua::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

southbound::HttpReply get(const DaemonProcess& daemon, const std::string& target) {
  return ask(daemon.address(), {"GET", target, std::nullopt, {}});
}

Exposition scrape(const DaemonProcess& daemon) {
  const auto reply = get(daemon, "/metrics");
  EXPECT_EQ(reply.status, 200);
  return Exposition(reply.body);
}

// A lender of four slabs and a borrower that holds two of them.
struct Observed : ::testing::Test {
  Observed() {
    EXPECT_TRUE(producer.client->offer(slabs).ok());
    auto leased = consumer.client->lease(2 * kSlabBytes, 4 * kSlabBytes);
    EXPECT_TRUE(leased.ok());
    if (leased.ok()) grants = *leased;
  }
  // The borrower gives everything back and the lender scrubs it.
  void bring_back() {
    std::vector<wire::Return> returns;
    std::vector<wire::Scrub> scrubs;
    for (const ledger::Grant& grant : grants) {
      returns.push_back({grant.slab, grant.generation});
      scrubs.push_back({grant.slab.index, grant.generation, random_id<LeaseTag>()});
    }
    ASSERT_TRUE(consumer.client->give_back(returns).ok());
    ASSERT_TRUE(producer.client->scrubbed(scrubs).ok());
  }
  std::string order(const std::string& target, const std::string& body, int status = 200) const {
    const auto reply = ask(daemon.address(), {"POST", target, std::nullopt, body});
    EXPECT_EQ(reply.status, status) << reply.body;
    return reply.body;
  }

  DaemonProcess daemon{{"--log-format", "json", "--log-level", "debug"}};
  Peer producer{daemon.address(), "lender", true};
  Peer consumer{daemon.address(), "borrower \"b\"", false};
  const std::vector<ledger::OfferedSlab> slabs = some_slabs(4);
  std::vector<ledger::Grant> grants;
};

TEST_F(Observed, MetricsAreWhatWasDone) {
  const auto before = scrape(daemon);
  constexpr double kBytes = kSlabBytes;
  EXPECT_EQ(before["aqua_slabs{state=\"offered\"}"], 2);
  EXPECT_EQ(before["aqua_slabs{state=\"leased\"}"], 2);
  EXPECT_EQ(before["aqua_slab_bytes{state=\"leased\"}"], 2 * kBytes);
  EXPECT_EQ(before["aqua_loan_bytes{producer=\"lender\",consumer=\"borrower \\\"b\\\"\"}"],
            2 * kBytes);
  EXPECT_EQ(before["aqua_slab_changes_total{event=\"offer\"}"], 4);
  EXPECT_EQ(before["aqua_slab_changes_total{event=\"grant\"}"], 2);
  EXPECT_EQ(before["aqua_slab_changed_bytes_total{event=\"grant\"}"], 2 * kBytes);
  EXPECT_EQ(before["aqua_clients{role=\"producer\",state=\"live\"}"], 1);
  EXPECT_EQ(before["aqua_clients{role=\"consumer\",state=\"live\"}"], 1);
  EXPECT_EQ(before["aqua_pairs"], 1);
  EXPECT_EQ(before["aqua_sessions"], 2);
  EXPECT_EQ(before["aqua_ready"], 1);
  EXPECT_EQ(before["aqua_http_requests_total{method=\"POST\",route=\"/v1/offers\",status=\"200\"}"],
            1);
  EXPECT_EQ(before["aqua_http_request_duration_seconds_count{route=\"/v1/leases\"}"], 1);
  EXPECT_EQ(before["aqua_http_requests_in_flight{route=\"/metrics\"}"], 1) << "this one";

  ASSERT_TRUE(producer.client->reclaim(3 * kSlabBytes, std::chrono::seconds{60}).ok());
  bring_back();
  EXPECT_EQ(get(daemon, "/nope").status, 404);
  const auto after = scrape(daemon);
  EXPECT_EQ(after["aqua_evictions_total"], 1);
  EXPECT_EQ(after["aqua_evicted_bytes_total"], kBytes);
  EXPECT_EQ(after["aqua_slab_changes_total{event=\"reclaim\"}"], 3);
  EXPECT_EQ(after["aqua_reclaims_total{outcome=\"complete\"}"], 1);
  EXPECT_EQ(after["aqua_reclaim_duration_seconds_count"], 1);
  EXPECT_EQ(after["aqua_reclaim_slab_seconds_count"], 3) << "two at once, one scrubbed";
  EXPECT_EQ(after["aqua_errors_total{code=\"not_found\"}"],
            before["aqua_errors_total{code=\"not_found\"}"] + 1);
  EXPECT_EQ(after["aqua_slabs{state=\"offered\"}"], 1);
  EXPECT_EQ(after["aqua_slab_bytes{state=\"leased\"}"], 0);
  EXPECT_EQ(after["aqua_reclaims_open"], 0);
  EXPECT_FALSE(after.has("aqua_loan_bytes{producer=\"lender\",consumer=\"borrower \\\"b\\\"\"}"));
}

TEST_F(Observed, ALenderThatNobodyUsesIsSeenAndWhy) {
  constexpr double kBytes = kSlabBytes;
  const auto refusal = [&] {
    const json state = json::parse(get(daemon, "/v1/state").body);
    for (const json& client : state.at("clients")) {
      if (client.at("name") == "borrower \"b\"") return client.value("refused", json());
    }
    return json("the borrower is not there");
  };
  EXPECT_EQ(scrape(daemon)["aqua_idle_bytes"], 0) << "two slabs, and nobody wants them";
  EXPECT_EQ(refusal(), json());
  ASSERT_FALSE(consumer.client->lease(kSlabBytes, 2 * kSlabBytes).ok());
  EXPECT_EQ(scrape(daemon)["aqua_idle_bytes"], 2 * kBytes);
  EXPECT_EQ(refusal().at("code"), "failed_precondition");
  EXPECT_THAT(refusal().at("detail").get<std::string>(), HasSubstr("has exits for"));
  ASSERT_TRUE(consumer.client->lease(kSlabBytes, 3 * kSlabBytes).ok());
  EXPECT_EQ(scrape(daemon)["aqua_idle_bytes"], 0) << "one slab, and the borrower has what it wants";
  EXPECT_EQ(refusal(), json());
}

TEST_F(Observed, MemoryOutOfReachOfWhoIsRefusedIsNotIdle) {
  constexpr double kBytes = kSlabBytes;
  const auto lends = [&](const char* domain) {
    southbound::Options options = options_of(daemon.address(), domain, true);
    options.info.domain = domain;
    Peer lender(std::move(options));
    EXPECT_TRUE(lender.client->offer(some_slabs(8)).ok());
    return scrape(daemon)["aqua_idle_bytes"];
  };
  ASSERT_FALSE(consumer.client->lease(kSlabBytes, 2 * kSlabBytes).ok());
  EXPECT_EQ(lends("elsewhere"), 2 * kBytes) << "its own lender's alone";
  EXPECT_EQ(lends("test"), 10 * kBytes);
}

TEST_F(Observed, AHoldThatOnlyItsLenderTellsOfIsNoLoan) {
  ledger::OfferedSlab made_up = slabs[0];
  made_up.index = 77;
  made_up.holder = consumer.id;
  ASSERT_TRUE(producer.client->offer({&made_up, 1}).ok());
  std::vector<int> alleged;
  const json state = json::parse(get(daemon, "/v1/state").body);
  for (const json& slab : state.at("slabs")) {
    if (slab.value("alleged", false)) alleged.push_back(slab.at("index").get<int>());
  }
  EXPECT_EQ(alleged, std::vector<int>{77});
  constexpr double kBytes = kSlabBytes;
  EXPECT_EQ(scrape(daemon)["aqua_loan_bytes{producer=\"lender\",consumer=\"borrower \\\"b\\\"\"}"],
            2 * kBytes);
}

TEST_F(Observed, LabelsStayFewWhateverPathsAndMethodsAreTried) {
  const std::size_t before = scrape(daemon).values().size();
  for (int i = 0; i < 50; ++i) {
    (void)get(daemon, "/x" + std::to_string(i));
    (void)ask(daemon.address(), {"M" + std::to_string(i), "/v1/state", std::nullopt, {}});
  }
  EXPECT_LE(scrape(daemon).values().size(), before + 8);
}

TEST_F(Observed, StoryOfASlabHasWhoAndWhy) {
  ASSERT_TRUE(producer.client->reclaim(4 * kSlabBytes, std::chrono::seconds{60}).ok());
  bring_back();
  const ledger::SlabId slab = grants[0].slab;
  const auto reply = get(daemon, "/v1/slabs/" + to_string(slab) + "/events");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto story = wire::decode<wire::SlabStory>(reply.body);
  ASSERT_TRUE(story.ok()) << story.error().message;
  std::vector<std::string> events;
  for (const auto& entry : story->entries) events.push_back(entry.event);
  EXPECT_EQ(events, (std::vector<std::string>{"offer", "grant", "reclaim", "give_back", "scrub"}));
  EXPECT_EQ(story->bytes, kSlabBytes);
  EXPECT_EQ(story->entries[1].holder, consumer.id);
  EXPECT_EQ(story->entries[1].holder_name, "borrower \"b\"");
  EXPECT_EQ(story->entries[1].holder_pid, ::getpid());
  EXPECT_GT(story->entries[2].reclaim, 0U);
  EXPECT_EQ(story->entries[4].to, ledger::SlabState::returned);
  EXPECT_THAT(reply.body, Not(HasSubstr(to_string(slabs[0].secret))));
  const auto none = get(daemon, "/v1/slabs/" + to_string(producer.id) + "/999/events");
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(get(daemon, "/v1/slabs/xyz/1/events").status, 400) << "not an id";
}

TEST_F(Observed, LogIsOneJsonObjectALineWithTheChangesAndNoSecret) {
  bring_back();
  EXPECT_EQ(daemon.stop(), 0);
  std::istringstream lines(daemon.log());
  std::map<std::string, int> messages;
  for (std::string line; std::getline(lines, line);) {
    const json parsed = json::parse(line, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << line;
    ++messages[parsed.at("message")];
    if (parsed.at("message") == "slabs leased") {
      EXPECT_EQ(parsed.at("slabs"), 2);
      EXPECT_EQ(parsed.at("holder"), to_string(consumer.id));
      EXPECT_EQ(parsed.at("level"), "info");
    }
    if (parsed.at("message") == "request" && parsed.at("path") == "/v1/leases") {
      EXPECT_EQ(parsed.at("status"), 200);
    }
  }
  EXPECT_EQ(messages["slabs offered"], 1);
  EXPECT_EQ(messages["slabs leased"], 1) << "one line for both slabs";
  EXPECT_EQ(messages["slabs scrubbed"], 1);
  EXPECT_GE(messages["request"], 5);
  for (const auto& slab : slabs) EXPECT_THAT(daemon.log(), Not(HasSubstr(to_string(slab.secret))));
}

TEST_F(Observed, HistoryHasTheBytesOfNow) {
  const auto history = wire::decode<wire::History>(get(daemon, "/v1/history").body);
  ASSERT_TRUE(history.ok());
  ASSERT_FALSE(history->samples.empty());
  EXPECT_EQ(history->samples.back().leased, 2 * kSlabBytes);
  EXPECT_EQ(history->samples.back().offered, 2 * kSlabBytes);
}

TEST_F(Observed, OperatorsRecallTellsBothSides) {
  const std::string body =
      order("/v1/recalls",
            wire::encode(wire::RecallRequest{
                .producer = producer.id, .bytes = 3 * kSlabBytes, .within = ledger::Time{60'000}}));
  const auto reply = wire::decode<wire::ReclaimReply>(body);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->withdrawn.size(), 2U);
  EXPECT_TRUE(producer.heard.wait_event(ledger::EventKind::withdrawn));
  EXPECT_TRUE(consumer.heard.wait_event(ledger::EventKind::revoke));
  order("/v1/recalls",
        wire::encode(wire::RecallRequest{
            .producer = consumer.id, .bytes = 0, .within = ledger::Time{60'000}}),
        400);
}

TEST_F(Observed, DrainedLenderIsEmptiedAndLendsNothingUntilItEnds) {
  order("/v1/drains",
        wire::encode(wire::DrainRequest{.client = producer.id, .within = ledger::Time{60'000}}));
  bring_back();
  EXPECT_EQ(scrape(daemon)["aqua_clients_draining"], 1);
  EXPECT_EQ(scrape(daemon)["aqua_slabs{state=\"offered\"}"], 0);
  ASSERT_TRUE(producer.client->offer(some_slabs(1)).ok());
  EXPECT_EQ(consumer.client->lease(kSlabBytes, 4 * kSlabBytes).error().code, Code::unavailable);
  const auto ended =
      ask(daemon.address(), {"DELETE", "/v1/drains/" + to_string(producer.id), std::nullopt, {}});
  EXPECT_EQ(ended.status, 200) << ended.body;
  EXPECT_TRUE(consumer.client->lease(kSlabBytes, 4 * kSlabBytes).ok());
}

TEST(Readiness, ServingDaemonIsAliveAndReady) {
  DaemonProcess daemon;
  EXPECT_EQ(get(daemon, "/healthz").status, 200);
  EXPECT_EQ(get(daemon, "/readyz").status, 200);
}

TEST(Observers, WantATokenOverTcp) {
  DaemonProcess daemon({"--listen", "127.0.0.1:0"});
  for (const char* target : {"/metrics", "/v1/history", "/v1/slabs/00/1/events", "/v1/state"})
    EXPECT_EQ(get(daemon, target).status, 401) << target;
  for (const char* target : {"/v1/recalls", "/v1/drains"}) {
    EXPECT_EQ(ask(daemon.address(), {"POST", target, random_id<SessionTag>(), "{}"}).status, 401)
        << target;
  }
  EXPECT_EQ(get(daemon, "/healthz").status, 200);
  EXPECT_EQ(get(daemon, "/readyz").status, 200);
}

}  // namespace
}  // namespace aqua::testing
