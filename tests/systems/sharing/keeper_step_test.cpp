// SPDX-License-Identifier: Apache-2.0
// Keepers that are killed at each step of their own, while they commit weights.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aqua/sharing/models.hpp"
#include "tests/keeper/kept_descriptors.hpp"
#include "tests/keeper/peer_program.hpp"
#include "tests/systems/sharing/stored_weights.hpp"

namespace aqua::sharing {
namespace {

using Names = std::vector<std::string>;

class KeeperKilledAtItsStep : public StoredWeights,
                              public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(Commit, KeeperKilledAtItsStep, ::testing::Values("store", "commit"),
                         [](const auto& step) { return step.param; });

TEST_P(KeeperKilledAtItsStep, LeavesAllOfItOrNothingAndTheNextServesAndFreesIt) {
  const bool has_record = GetParam() == "commit";
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  test::PeerProgram publisher(keeper_.socket());
  ASSERT_EQ(publisher.ask("publish 1 1"), "ok");
  restart_and_stop_at(GetParam());
  publisher.post("publish 2 2");
  ASSERT_EQ(keeper_.process().read_line(), "at " + GetParam());
  EXPECT_EQ(systemd_.names().size(), has_record ? 8U : 7U);
  restart();
  EXPECT_EQ(publisher.answer().substr(0, 11), "unavailable");
  {
    test::PeerProgram reader(keeper_.socket());
    EXPECT_EQ(reader.ask("attach -"), has_record ? "2" : "1");
    EXPECT_EQ(reader.ask(has_record ? "check 2" : "check 1"), "ok");
    if (!has_record) {
      EXPECT_EQ(systemd_.names().size(), 4U) << "what has no record has left the store";
    }
    EXPECT_EQ(publisher.ask("publish 2 2").substr(0, 14), has_record ? "already_exists" : "ok");
    EXPECT_EQ(reader.ask("attach 2"), "2");
    EXPECT_EQ(reader.ask("check 2"), "ok");
    reader.kill();
  }
  EXPECT_EQ(models().size(), 1U) << "version 1 is superseded";
  EXPECT_TRUE(retire_model("small", "2", keeper_.socket()).ok());
  publisher.kill();
  EXPECT_EQ(systemd_.names(), Names{});
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
}

// Without systemd nothing outlives it, and the publisher begins anew.
TEST(KeeperWithoutAStore, KilledBeforeItsCommitShowsLeavesNothing) {
  test::KeeperProcess keeper;
  const std::ptrdiff_t before = test::kept_descriptors(keeper);
  keeper.kill();
  keeper.start({AQUA_STOPPING_KEEPER, keeper.socket(), "commit"});
  test::PeerProgram publisher(keeper.socket());
  publisher.post("publish 1 7");
  ASSERT_EQ(keeper.process().read_line(), "at commit");
  keeper.kill();
  keeper.start();
  EXPECT_EQ(publisher.answer().substr(0, 11), "unavailable");
  EXPECT_TRUE(list_models(keeper.socket())->empty());
  EXPECT_EQ(publisher.ask("publish 1 8"), "ok") << "its memory came back";
  EXPECT_EQ(publisher.ask("attach -"), "1");
  EXPECT_EQ(publisher.ask("check 8"), "ok");
  publisher.kill();
  EXPECT_TRUE(retire_model("small", "1", keeper.socket()).ok());
  EXPECT_EQ(test::kept_descriptors(keeper), before);
}

}  // namespace
}  // namespace aqua::sharing
