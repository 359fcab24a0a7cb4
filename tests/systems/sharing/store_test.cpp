// SPDX-License-Identifier: Apache-2.0
// A keeper that is killed, and whose successor gets its descriptors from systemd.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "aqua/sharing/models.hpp"
#include "base/memory/memfd.hpp"
#include "systems/sharing/act/keeper_client.hpp"
#include "tests/keeper/kept_descriptors.hpp"
#include "tests/keeper/peer_program.hpp"
#include "tests/systems/sharing/small_file.hpp"
#include "tests/systems/sharing/stored_weights.hpp"

namespace aqua::sharing {
namespace {

TEST_F(StoredWeights, AreServedByTheNextKeeperAndNoFileIsRead) {
  test::PeerProgram engine(keeper_.socket());
  ASSERT_EQ(engine.ask("publish 1 7"), "ok");
  EXPECT_EQ(systemd_.names(),
            (std::vector<std::string>{"c1-0", "c1-1", "c1-manifest", "c1-record"}));
  const auto before = models();
  engine.kill();
  restart();
  EXPECT_EQ(models(), before);
  test::PeerProgram next(keeper_.socket());
  EXPECT_EQ(next.ask("attach -"), "1");
  EXPECT_EQ(next.ask("check 7"), "ok");
  restart();
  test::PeerProgram later(keeper_.socket());
  EXPECT_EQ(later.ask("attach -"), "1") << "once more";
  EXPECT_EQ(later.ask("check 7"), "ok");
}

TEST_F(StoredWeights, TheNewestIsStillTheNewestAndWhatNobodyReadsGoes) {
  test::PeerProgram publisher(keeper_.socket());
  test::PeerProgram reader(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 1"), "ok");
  ASSERT_EQ(reader.ask("attach 1"), "1");
  ASSERT_EQ(publisher.ask("publish 2 2"), "ok");
  EXPECT_EQ(systemd_.names().size(), 4U) << "version 1 is its reader's alone";
  restart();
  EXPECT_EQ(systemd_.names().size(), 4U);
  EXPECT_EQ(reader.ask("check 1"), "ok") << "who goes on all the same";
  EXPECT_EQ(reader.ask("attach -"), "2");
  EXPECT_EQ(reader.ask("check 2"), "ok");
  ASSERT_EQ(publisher.ask("publish 3 3"), "ok") << "under a name of its own in the store";
  restart();
  EXPECT_EQ(reader.ask("attach -"), "3");
  EXPECT_EQ(reader.ask("check 3"), "ok");
}

TEST_F(StoredWeights, RetiredTheyLeaveTheStore) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 1"), "ok");
  ASSERT_TRUE(retire_model("small", "1", keeper_.socket()).ok());
  EXPECT_TRUE(systemd_.names().empty());
}

TEST_F(StoredWeights, RetiredWhileTheyAreReadTheyStayWithTheirReadersAlone) {
  test::PeerProgram engine(keeper_.socket());
  ASSERT_EQ(engine.ask("publish 1 1"), "ok");
  ASSERT_EQ(engine.ask("attach 1"), "1");
  ASSERT_TRUE(retire_model("small", "1", keeper_.socket()).ok());
  EXPECT_TRUE(systemd_.names().empty());
  EXPECT_EQ(models().front().readers, 1U);
  restart();
  EXPECT_EQ(engine.ask("check 1"), "ok");
  EXPECT_TRUE(models().empty());
}

// Version 1 began before version 2, and both its shards were committed after the first of that.
TEST_F(StoredWeights, WhichVersionIsNewerIsKnownToTheNextKeeper) {
  const auto publish = [](const std::string& version, std::uint32_t shard) {
    return wire::Publish{.shard = {.model = "m", .version = version, .shard = shard, .shards = 2},
                         .device = {}};
  };
  KeeperClient client = KeeperClient::connect(keeper_.socket()).value();
  const CopyId one_first = ask(client, publish("1", 0)).copy;
  const CopyId one_second = ask(client, publish("1", 1)).copy;
  fill_and_commit(client, ask(client, publish("2", 0)).copy);
  fill_and_commit(client, one_first);
  fill_and_commit(client, one_second);
  restart();
  KeeperClient next = KeeperClient::connect(keeper_.socket()).value();
  const wire::Attach newest{.shard = {.model = "m", .shards = 2}, .device = {}};
  EXPECT_EQ(ask(next, newest).version, "1");
  fill_and_commit(next, ask(next, publish("2", 1)).copy);
  EXPECT_EQ(ask(next, newest).version, "2");
}

// The copy by which version 1 began has gone, and the one that is left came after version 2's.
TEST_F(StoredWeights, WhichVersionIsNewerIsKnownWhenItsFirstCopyHasGone) {
  const auto on = [](std::uint8_t number) {
    DeviceUuid device;
    device.bytes[0] = number;
    return device;
  };
  const auto publish = [&](const std::string& version, std::uint8_t device) {
    KeeperClient client = KeeperClient::connect(keeper_.socket()).value();
    fill_and_commit(client, ask(client, wire::Publish{.shard = {.model = "m", .version = version},
                                                      .device = on(device)})
                                .copy);
  };
  publish("1", 1);
  publish("2", 2);
  publish("1", 3);
  ASSERT_TRUE(drop_copies("m", "1", to_string(on(1)), keeper_.socket()).ok());
  restart();
  restart();
  EXPECT_EQ(models().size(), 2U);
  publish("2", 3);
  ASSERT_EQ(models().size(), 1U) << "the newer one has both devices";
  EXPECT_EQ(models().front().version, "2");
}

TEST_F(StoredWeights, OfWhatIsNotWholeNothingIsServedAndTheRestIs) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 1"), "ok");
  for (const char* lost : {"c1-1", "c1-manifest", "c1-record"}) {
    SCOPED_TRACE(lost);
    systemd_.lose(lost);
    systemd_.add("c07-", create_memfd("garbage"));
    systemd_.add("c99-record", create_memfd("empty"));
    systemd_.add("stranger", create_memfd("garbage"));
    restart();
    EXPECT_TRUE(models().empty());
    EXPECT_EQ(systemd_.names(), (std::vector<std::string>{"c07-", "stranger"}))
        << "what is of no use leaves the store; what is another's stays";
    for (const std::string& name : systemd_.names()) systemd_.lose(name);
    test::PeerProgram next(keeper_.socket());
    ASSERT_EQ(next.ask("publish 1 1"), "ok");
    // Under a new name; give it the old one for the next round.
    const auto names = systemd_.names();
    ASSERT_EQ(names.size(), 4U);
    systemd_.rename_all("c1");
  }
}

// Killed right after its answer, or as it is about to give one.
TEST_F(StoredWeights, WhatWasCommittedIsThereAfterTheKeeperIsKilled) {
  for (int round = 0; round < 8; ++round) {
    test::PeerProgram publisher(keeper_.socket());
    ASSERT_EQ(publisher.ask("stop-at commit"), "ok");
    const std::string version = std::to_string(round);
    ASSERT_EQ(publisher.ask("publish " + version + " " + version), "at commit");
    publisher.post("go on");
    std::string answer;
    if (round % 2 == 0) answer = publisher.answer();
    restart();
    if (round % 2 != 0) answer = publisher.answer();
    test::PeerProgram reader(keeper_.socket());
    const std::string attached = reader.ask("attach " + version);
    if (answer != "ok") {
      EXPECT_EQ(answer.substr(0, 11), "unavailable");
    }
    if (answer == "ok" || attached == version) {
      ASSERT_EQ(attached, version);
      EXPECT_EQ(reader.ask("check " + version), "ok");
    } else {
      EXPECT_EQ(attached.substr(0, 9), "not_found");
    }
  }
}

// Publishers, loaders, readers and keepers die at random moments. What was committed is what the
// next keeper serves, byte for byte, and at the end nothing is left in the store.
TEST_F(StoredWeights, AtRandomMomentsWhatWasCommittedIsServedByTheNextKeeper) {
  std::mt19937_64 random(std::random_device{}());
  const std::uint64_t seed = random();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random.seed(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<std::unique_ptr<test::PeerProgram>> peers(2);  // a writer and a reader
  int committed = 0, keepers = 0;
  const int rounds = test::random_rounds();
  for (int version = 1; version <= rounds || keepers < 3; ++version) {
    for (auto& peer : peers) {
      if (!peer) peer = std::make_unique<test::PeerProgram>(keeper_.socket());
    }
    const auto seed_of = [](int of) { return static_cast<std::uint64_t>(1000 + of); };
    const std::string of = std::to_string(version);
    peers[0]->post(below(2) == 0 ? "publish " + of + " " + std::to_string(seed_of(version))
                                 : "load " + small_file(directory_, seed_of(version)) + " " + of);
    peers[1]->post("attach -");
    std::this_thread::yield();
    const std::size_t victim = below(3);
    if (victim == 2) {
      restart();
      ++keepers;
    } else {
      peers[victim]->kill();
      peers[victim].reset();
    }
    if (peers[0] && peers[0]->answer() == "ok") committed = version;
    if (peers[1]) (void)peers[1]->answer();
    test::PeerProgram reader(keeper_.socket());
    const std::string attached = reader.ask("attach -");
    const int found = std::atoi(attached.c_str());
    ASSERT_GE(found, committed) << attached;  // one whose writer was killed may have been committed
    if (found > 0) {
      ASSERT_EQ(reader.ask("check " + std::to_string(seed_of(found))), "ok");
    }
  }
  peers.clear();
  restart();
  for (const ModelStatus& left : models()) {
    EXPECT_TRUE(retire_model(left.model, left.version, keeper_.socket()).ok());
  }
  EXPECT_TRUE(systemd_.names().empty());
}

TEST_F(StoredWeights, InHostMemoryAreSpareForTheNextKeeperToo) {
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 1"), "ok");
  ASSERT_EQ(publisher.ask("trim"), "ok");
  const auto copies = [&] { return list_copies(keeper_.socket()).value(); };
  ASSERT_EQ(copies().size(), 1U);
  restart();
  ASSERT_EQ(copies().size(), 1U);
  EXPECT_TRUE(copies().front().spare);
  EXPECT_TRUE(copies().front().readers_unknown);
  ASSERT_EQ(publisher.ask("bring-back 1"), "ok");
  EXPECT_FALSE(copies().back().readers_unknown) << "this keeper knows who reads it";
  ASSERT_EQ(publisher.ask("publish 2 2"), "ok");
  EXPECT_EQ(copies().size(), 1U) << "what is in host memory goes with the rest of version 1";
}

}  // namespace
}  // namespace aqua::sharing
