// SPDX-License-Identifier: Apache-2.0
// Coordinators come and go; the client finds them again and its owner declares anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "base/step.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tests/southbound/peers.hpp"

namespace aqua::testing {
namespace {

using ::testing::ElementsAre;

TEST(Reconnecting, RestartedCoordinatorIsANewEpochAndSlabsAreDeclaredAgain) {
  DaemonProcess daemon;
  const auto slabs = some_slabs(2);
  auto options = options_of(daemon.address(), "producer", true);
  Recorder heard;
  std::unique_ptr<southbound::Client> client;
  std::atomic<southbound::Client*> usable{nullptr};
  std::atomic<int> declared{0};
  heard.connected_hook = [&](const southbound::Session& session) {
    while (usable == nullptr) std::this_thread::yield();
    if (session.new_epoch && usable.load()->offer(slabs).ok()) ++declared;
  };
  client = southbound::Client::open(options, heard).value();
  usable = client.get();
  ASSERT_TRUE(heard.wait_snapshots(1));
  EXPECT_EQ(heard.snapshots()[0].own.size(), 2U);

  daemon.kill();
  daemon.start();
  ASSERT_TRUE(heard.wait_snapshots(2));
  EXPECT_EQ(declared, 2);
  EXPECT_EQ(heard.snapshots()[1].own.size(), 2U);
  const auto sessions = heard.sessions();
  EXPECT_NE(sessions[0].epoch, sessions[1].epoch);
  EXPECT_LT(sessions[0].number, sessions[1].number);
  EXPECT_THAT(heard.calls(),
              ElementsAre("connected", "snapshot", "disconnected", "connected", "snapshot"));
  EXPECT_TRUE(client->connected());
}

TEST(Reconnecting, ClientOpenedFirstFindsTheCoordinatorLater) {
  DaemonProcess daemon;
  ASSERT_EQ(daemon.stop(), 0);
  Peer peer(daemon.address(), "early", false, /*wait=*/false);
  EXPECT_FALSE(peer.client->connected());
  EXPECT_EQ(peer.client->lease(kSlabBytes, kSlabBytes).error().code, Code::unavailable);
  EXPECT_TRUE(peer.heard.wait_unreachable());
  daemon.start();
  EXPECT_TRUE(peer.heard.wait_snapshots(1));
  EXPECT_THAT(peer.heard.calls(), ElementsAre("unreachable", "connected", "snapshot"));
  EXPECT_TRUE(peer.client->snapshot().ok());
}

TEST(Reconnecting, CallsWhileTheCoordinatorIsAwayAreUnavailable) {
  DaemonProcess daemon;
  Peer peer(daemon.address(), "peer", false);
  daemon.kill();
  EXPECT_TRUE(eventually([&] { return !peer.client->connected(); }));
  EXPECT_EQ(peer.client->snapshot().error().code, Code::unavailable);
  EXPECT_FALSE(peer.client->status().last_error.empty());
}

TEST(Reconnecting, HeldSlabSurvivesARestartWhenBothSidesDeclare) {
  DaemonProcess daemon;
  Peer consumer(daemon.address(), "consumer", false);
  Recorder heard;
  auto slabs = some_slabs(1);
  std::atomic<southbound::Client*> usable{nullptr};
  std::mutex mu;
  heard.connected_hook = [&](const southbound::Session&) {
    while (usable == nullptr) std::this_thread::yield();
    const std::lock_guard lock(mu);
    EXPECT_TRUE(usable.load()->offer(slabs).ok());
  };
  auto producer =
      southbound::Client::open(options_of(daemon.address(), "producer", true), heard).value();
  usable = producer.get();
  ASSERT_TRUE(heard.wait_snapshots(1));
  const auto grants = consumer.client->lease(kSlabBytes, kSlabBytes);
  ASSERT_TRUE(grants.ok());
  {
    const std::lock_guard lock(mu);
    slabs[0].holder = consumer.id;
  }
  daemon.kill();
  daemon.start();
  ASSERT_TRUE(heard.wait_snapshots(2));
  ASSERT_TRUE(consumer.heard.wait_sessions(2));
  EXPECT_TRUE(eventually([&] {
    const auto snapshot = consumer.client->snapshot();
    return snapshot.ok() && snapshot->held.size() == 1 &&
           snapshot->held[0].state == ledger::SlabState::leased;
  }));
  const wire::Return back{(*grants)[0].slab, (*grants)[0].generation};
  const auto returned = consumer.client->give_back({&back, 1});
  ASSERT_TRUE(returned.ok());
  EXPECT_TRUE(returned->at(0).ok());
}

std::mutex step_mu;
std::vector<std::string> steps;
void record_step(const char* name) {
  const std::lock_guard lock(step_mu);
  steps.emplace_back(name);
}

TEST(Reconnecting, StepsAreNamedBeforeEachJoin) {
  step_hook = record_step;
  DaemonProcess daemon;
  {
    Peer peer(daemon.address(), "peer", false);
    daemon.kill();
    daemon.start();
    EXPECT_TRUE(peer.heard.wait_sessions(2));
  }
  step_hook = nullptr;
  const std::lock_guard lock(step_mu);
  ASSERT_GE(steps.size(), 2U);
  EXPECT_EQ(steps[0], "register");
  EXPECT_EQ(steps[1], "reconnect");
}

TEST(Reconnecting, RenewalsGoOnWhileACallbackTakesItsTime) {
  DaemonProcess daemon({"--client-ttl", "300", "--lease-ttl", "300"});
  Peer producer(daemon.address(), "producer", true);
  auto options = options_of(daemon.address(), "consumer", false);
  Recorder heard;
  std::atomic<bool> inside{false};
  std::atomic<bool> release{false};
  heard.events_hook = [&] {
    inside = true;
    while (!release) std::this_thread::yield();
  };
  auto slow = southbound::Client::open(options, heard).value();
  ASSERT_TRUE(heard.wait_snapshots(1));
  ASSERT_TRUE(producer.client->offer(some_slabs(1)).ok());
  ASSERT_TRUE(eventually([&] { return inside.load(); }));
  EXPECT_TRUE(stays_live(daemon.address(), options.info.id, std::chrono::milliseconds{900}));
  release = true;
}

}  // namespace
}  // namespace aqua::testing
