// SPDX-License-Identifier: Apache-2.0
// How a client ends: closed, destroyed in a callback's way, or copied by fork().
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include "tests/base/few_threads.hpp"
#include "tests/base/sanitized.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using std::chrono::steady_clock;

TEST(Closing, IsPromptWhileALongPollWaits) {
  DaemonProcess daemon;
  Peer peer(daemon.address(), "peer", false);
  const auto begin = steady_clock::now();
  peer.client->close();
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds{10});  // the poll waits for 30
}

TEST(Closing, LeavesWhenNothingIsHeld) {
  DaemonProcess daemon;
  Peer peer(daemon.address(), "peer", false);
  EXPECT_EQ(admin::fetch_state(daemon.address())->clients.size(), 1U);
  peer.client->close();
  EXPECT_TRUE(admin::fetch_state(daemon.address())->clients.empty());
}

TEST(Closing, WithALeaseBecomesSuspectAndNotDead) {
  DaemonProcess daemon;
  Peer producer(daemon.address(), "producer", true);
  Peer consumer(daemon.address(), "consumer", false);
  ASSERT_TRUE(producer.client->offer(some_slabs(1)).ok());
  ASSERT_TRUE(consumer.client->lease(kSlabBytes, kSlabBytes).ok());
  consumer.client->close();
  EXPECT_TRUE(eventually([&] {
    const auto state = admin::fetch_state(daemon.address());
    return state.ok() && state->slabs.at(0).state == ledger::SlabState::suspect;
  }));
}

TEST(Closing, CallsAfterwardsAreCancelledAndASecondCloseDoesNothing) {
  DaemonProcess daemon;
  Peer peer(daemon.address(), "peer", false);
  peer.client->close();
  peer.client->close();
  EXPECT_FALSE(peer.client->connected());
  EXPECT_EQ(peer.client->snapshot().error().code, Code::cancelled);
  EXPECT_EQ(peer.heard.calls().back(), "snapshot");  // and nobody was told of a disconnection
}

TEST(Closing, DoesNotWaitForACoordinatorThatIsStopped) {
  DaemonProcess daemon;
  Peer peer(daemon.address(), "peer", false);
  daemon.process().stop();
  const auto begin = steady_clock::now();
  peer.client->close();
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds{10});
  daemon.process().signal(SIGCONT);
}

TEST(Closing, WhileTheCoordinatorIsAway) {
  Peer peer("unix:/tmp/aqua-nobody-listens.sock", "peer", false, /*wait=*/false);
  EXPECT_FALSE(peer.client->connected());
  EXPECT_EQ(peer.client->snapshot().error().code, Code::unavailable);
  peer.client->close();
}

TEST(Closing, WhereTheSecondThreadCannotBeStarted) {
#ifdef AQUA_SANITIZED
  GTEST_SKIP() << "a sanitizer maps memory of its own for each thread";
#endif
  Recorder heard;
  const aqua::test::FewThreads one(1);
  const auto opened = southbound::Client::open(
      options_of("unix:/tmp/aqua-nobody-listens.sock", "peer", false), heard);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::resource_exhausted) << opened.error().message;
}

TEST(Closing, EndsACallThatWaits) {
  DaemonProcess daemon;
  Peer peer(daemon.address(), "peer", false);
  daemon.process().stop();
  auto call = std::async(std::launch::async, [&] { return peer.client->snapshot(); });
  peer.client->close();
  const auto outcome = call.get();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::cancelled);
  daemon.process().signal(SIGCONT);
}

// A call may take an hour: whoever waited for that would not end.
TEST(Closing, InAHurryNoCallWaitsForItsTimeout) {
  DaemonProcess daemon;
  southbound::Options options = options_of(daemon.address(), "peer", false);
  options.call_timeout = std::chrono::hours{1};
  Peer peer(std::move(options));
  daemon.process().stop();
  auto call = std::async(std::launch::async, [&] { return peer.client->snapshot(); });
  peer.client->hurry();
  for (const auto& outcome : {call.get(), peer.client->snapshot()}) {
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().code, Code::unavailable);
  }
  peer.client->close();
  daemon.process().signal(SIGCONT);
}

TEST(Forking, ChildCannotCallAndDoesNotEndTheParentsSession) {
  DaemonProcess daemon;
  Peer peer(daemon.address(), "peer", false);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto outcome = peer.client->snapshot();
    const bool right = !outcome.ok() && outcome.error().code == Code::failed_precondition &&
                       !peer.client->connected();
    peer.client->close();
    peer.client.reset();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(peer.client->snapshot().ok());
  EXPECT_EQ(peer.heard.sessions().size(), 1U);
}

TEST(Opening, BadAddressOrNilIdIsInvalid) {
  Recorder heard;
  for (const char* address : {"", "unix:", "0.0.0.0:80", "nonsense"}) {
    const auto client = southbound::Client::open(options_of(address, "x", false), heard);
    ASSERT_FALSE(client.ok()) << address;
    EXPECT_EQ(client.error().code, Code::invalid_argument);
  }
  auto options = options_of("unix:/tmp/x", "x", false);
  options.info.id = ClientId{};
  EXPECT_EQ(southbound::Client::open(options, heard).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace aqua::testing
