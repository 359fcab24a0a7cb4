// SPDX-License-Identifier: Apache-2.0
// A keeper that is killed, and whose successor gets its descriptors from systemd.
#include <gtest/gtest.h>

#include <algorithm>

#include "aqua/sharing/models.hpp"
#include "base/memfd.hpp"
#include "tests/systems/sharing/fake_systemd.hpp"
#include "tests/systems/sharing/keeper_process.hpp"
#include "tests/systems/sharing/peer_process.hpp"

namespace aqua::sharing {
namespace {

class StoredWeights : public ::testing::Test {
 protected:
  StoredWeights() {
    keeper_.stop();
    start();
  }
  void start() {
    keeper_.start(systemd_.start(AQUA_KEEPER_PROGRAM " --socket " + keeper_.socket()));
    systemd_.started();
  }
  void restart() {
    keeper_.kill();
    start();
  }
  [[nodiscard]] std::vector<ModelStatus> models() { return list_models(keeper_.socket()).value(); }

  aqua::testing::TempDir directory_;
  KeeperProcess keeper_;
  FakeSystemd systemd_{directory_ / "notify"};
};

TEST_F(StoredWeights, AreServedByTheNextKeeperAndNoFileIsRead) {
  PeerProcess engine(keeper_.socket());
  ASSERT_EQ(engine.ask("publish 1 7"), "ok");
  EXPECT_EQ(systemd_.names(),
            (std::vector<std::string>{"c1-0", "c1-1", "c1-manifest", "c1-record"}));
  const auto before = models();
  engine.kill();
  restart();
  EXPECT_EQ(models(), before);
  PeerProcess next(keeper_.socket());
  EXPECT_EQ(next.ask("attach -"), "1");
  EXPECT_EQ(next.ask("check 7"), "ok");
  restart();
  PeerProcess later(keeper_.socket());
  EXPECT_EQ(later.ask("attach -"), "1") << "once more";
  EXPECT_EQ(later.ask("check 7"), "ok");
}

TEST_F(StoredWeights, TheNewestIsStillTheNewestAndWhatNobodyReadsGoes) {
  PeerProcess publisher(keeper_.socket());
  PeerProcess reader(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 1"), "ok");
  ASSERT_EQ(reader.ask("attach 1"), "1");
  ASSERT_EQ(publisher.ask("publish 2 2"), "ok");
  EXPECT_EQ(systemd_.names().size(), 8U) << "version 1 is read";
  restart();
  EXPECT_EQ(systemd_.names().size(), 4U) << "this keeper knows no reader of it";
  EXPECT_EQ(reader.ask("check 1"), "ok") << "who goes on all the same";
  EXPECT_EQ(reader.ask("attach -"), "2");
  EXPECT_EQ(reader.ask("check 2"), "ok");
  ASSERT_EQ(publisher.ask("publish 3 3"), "ok") << "under a name of its own in the store";
  restart();
  EXPECT_EQ(reader.ask("attach -"), "3");
  EXPECT_EQ(reader.ask("check 3"), "ok");
}

TEST_F(StoredWeights, RetiredTheyLeaveTheStore) {
  PeerProcess publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 1"), "ok");
  ASSERT_TRUE(retire_model("small", "1", keeper_.socket()).ok());
  EXPECT_TRUE(systemd_.names().empty());
}

TEST_F(StoredWeights, OfWhatIsNotWholeNothingIsServedAndTheRestIs) {
  PeerProcess publisher(keeper_.socket());
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
    PeerProcess next(keeper_.socket());
    ASSERT_EQ(next.ask("publish 1 1"), "ok");
    // Under a new name; give it the old one for the next round.
    const auto names = systemd_.names();
    ASSERT_EQ(names.size(), 4U);
    systemd_.rename_all("c1");
  }
}

// A keeper dies at random while engines publish; what a publisher was told is there, is there.
TEST_F(StoredWeights, WhatWasCommittedIsThereAfterTheKeeperIsKilled) {
  for (int round = 0; round < 8; ++round) {
    PeerProcess publisher(keeper_.socket());
    ASSERT_EQ(publisher.ask("stop-at commit"), "ok");
    const std::string version = std::to_string(round);
    ASSERT_EQ(publisher.ask("publish " + version + " " + version), "at commit");
    publisher.post("go on");
    std::string answer;
    if (round % 2 == 0) answer = publisher.answer();
    restart();
    if (round % 2 != 0) answer = publisher.answer();
    PeerProcess reader(keeper_.socket());
    const std::string attached = reader.ask("attach " + version);
    if (answer == "ok") {
      EXPECT_EQ(attached, version);
    }
    if (attached == version) {
      EXPECT_EQ(reader.ask("check " + version), "ok");
    }
  }
}

}  // namespace
}  // namespace aqua::sharing
