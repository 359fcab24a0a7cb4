// SPDX-License-Identifier: Apache-2.0
// Idle, silent, stopped, killed: what the coordinator makes of each.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/raw_session.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using ledger::ClientState;
using ledger::EventKind;
using ledger::SlabState;

struct Liveness : ::testing::Test {
  explicit Liveness(std::vector<std::string> arguments = {}) : daemon(std::move(arguments)) {
    EXPECT_TRUE(producer.client->offer(some_slabs(1)).ok());
  }
  ChildProcess borrower(const char* mode) const {
    return ChildProcess({AQUA_TEST_CLIENT_PROGRAM, mode, daemon.address(), to_string(borrower_id),
                         std::to_string(kSlabBytes)});
  }
  bool becomes(SlabState state) {
    return eventually([&] {
      const auto seen = admin::fetch_state(daemon.address());
      return seen.ok() && seen->slabs.size() == 1 && seen->slabs[0].state == state;
    });
  }

  DaemonProcess daemon;
  Peer producer{daemon.address(), "producer", true};
  const ClientId borrower_id = random_id<ClientTag>();
};
struct ShortLiveness : Liveness {
  ShortLiveness() : Liveness({"--client-ttl", "300", "--lease-ttl", "300"}) {}
};

TEST_F(Liveness, KilledBorrowerIsDeadAndTheProducerIsTold) {
  ChildProcess borrower_process = borrower("lease");
  ASSERT_EQ(borrower_process.read_line(), "leased 1");
  borrower_process.signal(SIGKILL);
  const auto event = producer.heard.wait_event(EventKind::holder_dead);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->slab, (ledger::SlabId{producer.id, 0}));
  EXPECT_EQ(event->generation, 1U);
  const wire::Scrub scrub{0, 1, random_id<LeaseTag>()};
  EXPECT_EQ(producer.client->scrubbed({&scrub, 1})->at(0).value(), SlabState::offered);
}

TEST_F(Liveness, ForkedChildThatHoldsTheLifelineKeepsNobodyAlive) {
  ChildProcess borrower_process = borrower("fork");
  ASSERT_EQ(borrower_process.read_line(), "leased 1");
  const std::string line = borrower_process.read_line();
  ASSERT_TRUE(line.starts_with("child "));
  const auto child = static_cast<pid_t>(std::strtol(line.c_str() + 6, nullptr, 10));
  ASSERT_GT(child, 0);
  borrower_process.signal(SIGKILL);
  borrower_process.wait();
  EXPECT_TRUE(producer.heard.wait_event(EventKind::holder_dead));
  EXPECT_EQ(::kill(child, 0), 0) << "the child should have been there all the time";
  ::kill(child, SIGKILL);
}

TEST_F(Liveness, KilledProducerLeavesItsBorrowerAnOrphanThatMayStillReturn) {
  Peer borrower_here(daemon.address(), "borrower", false);
  ASSERT_TRUE(producer.client->withdraw(std::vector<std::uint32_t>{0}).ok());
  const auto lender_id = random_id<ClientTag>();
  ChildProcess lender(
      {AQUA_TEST_CLIENT_PROGRAM, "offer", daemon.address(), to_string(lender_id), "1"});
  ASSERT_EQ(lender.read_line(), "offered 1");
  const auto pair = admin::set_pair(daemon.address(), {lender_id, borrower_here.id});
  ASSERT_TRUE(pair.ok()) << pair.error().message;
  const auto grants = borrower_here.client->lease(1, 1);
  ASSERT_TRUE(grants.ok()) << grants.error().message;
  lender.signal(SIGKILL);
  const auto event = borrower_here.heard.wait_event(EventKind::producer_gone);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->slab, grants->at(0).slab);
  const wire::Return back{event->slab, event->generation};
  EXPECT_TRUE(borrower_here.client->give_back({&back, 1})->at(0).ok());
}

TEST_F(Liveness, ClosedLifelineOfALiveProcessIsSuspectOnly) {
  RawSession session(daemon.address(), daemon.lifeline());
  ASSERT_EQ(session.join().status, 200);
  ASSERT_EQ(session.call("POST", "/v1/leases", R"({"bytes":1,"exit_bytes":4194304})").status, 200);
  session.lifeline.fd.reset();
  EXPECT_TRUE(becomes(SlabState::suspect));
  EXPECT_EQ(session.call("POST", "/v1/clients/self/renew").status, 401);
  // It is still there, so it may come back and go on.
  session.lifeline = connect_lifeline(daemon.lifeline(), session.id).value();
  EXPECT_EQ(session.join().status, 200);
  EXPECT_TRUE(becomes(SlabState::leased));
  for (const auto& event : producer.heard.events()) EXPECT_NE(event.kind, EventKind::holder_dead);
}

TEST_F(ShortLiveness, StoppedPastItsTimeToLiveIsSuspectAndLiveAgainWhenItGoesOn) {
  ChildProcess borrower_process = borrower("lease");
  ASSERT_EQ(borrower_process.read_line(), "leased 1");
  borrower_process.stop();
  EXPECT_TRUE(becomes(SlabState::suspect));
  borrower_process.signal(SIGCONT);
  EXPECT_TRUE(becomes(SlabState::leased));
  for (const auto& event : producer.heard.events()) EXPECT_NE(event.kind, EventKind::holder_dead);
}

TEST_F(ShortLiveness, IdleClientStaysLive) {
  Peer idle(daemon.address(), "idle", false);
  EXPECT_TRUE(stays_live(daemon.address(), idle.id, std::chrono::milliseconds{900}));
  EXPECT_EQ(idle.heard.sessions().size(), 1U);  // a second one would follow the loss of the first
}

}  // namespace
}  // namespace aqua::testing
