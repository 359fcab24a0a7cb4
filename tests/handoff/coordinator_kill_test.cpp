// SPDX-License-Identifier: Apache-2.0
// A coordinator that is killed while its engines share a KV pool: they hand over as before, and it
// has them again when it is back.
#include <gtest/gtest.h>

#include <string>

#include "tests/keeper/mortal_coordinator.hpp"

namespace aqua {
namespace {

class CoordinatorKilledAtStep : public test::MortalCoordinator,
                                public ::testing::WithParamInterface<std::string> {
 protected:
  // A request goes from one to the other, and its bytes are right.
  static void expect_handed_over(const std::string& id, test::PeerProgram& prefill,
                                 test::PeerProgram& decode) {
    ASSERT_EQ(prefill.ask("hand " + id + " 1 2 7"), "ok");
    expect_served(id, decode);
  }
  static void expect_served(const std::string& id, test::PeerProgram& decode) {
    EXPECT_EQ(decode.ask("take 1"), id);
    EXPECT_EQ(decode.ask("append"), "ok");
    EXPECT_EQ(decode.ask("check"), "ok");
    EXPECT_EQ(decode.ask("finish"), "ok");
  }
  void expect_all_well(test::PeerProgram& prefill, test::PeerProgram& decode) {
    expect_each({&prefill, &decode}, "away");
    expect_handed_over("later", prefill, decode);
    coordinator_.start();
    expect_each({&prefill, &decode}, "connected");
    expect_handed_over("again", prefill, decode);
  }
};
const auto kNamed = [](const auto& step) { return step.param; };

class CoordinatorOfAMember : public CoordinatorKilledAtStep {};
INSTANTIATE_TEST_SUITE_P(Killed, CoordinatorOfAMember, ::testing::Values("join", "make", "map"),
                         kNamed);

TEST_P(CoordinatorOfAMember, IsNotMissed) {
  const Engine prefill = start_engine(), decode = start_engine();
  EXPECT_EQ(killed_at(GetParam(), *prefill, "attach prefill"), "ok");
  ASSERT_EQ(decode->ask("attach decode"), "ok");
  expect_handed_over("a", *prefill, *decode);
  expect_all_well(*prefill, *decode);
}

class CoordinatorOfAGiver : public CoordinatorKilledAtStep {};
INSTANTIATE_TEST_SUITE_P(Killed, CoordinatorOfAGiver,
                         ::testing::Values("hand_over", "open", "close"), kNamed);

TEST_P(CoordinatorOfAGiver, IsNotMissed) {
  const Engine prefill = start_engine(), decode = start_engine();
  ASSERT_EQ(prefill->ask("attach prefill"), "ok");
  ASSERT_EQ(decode->ask("attach decode"), "ok");
  const std::string how = GetParam() == "hand_over" ? "hand" : "carry";
  EXPECT_EQ(killed_at(GetParam(), *prefill, how + " a 1 3 7"), "ok");
  expect_served("a", *decode);
  expect_all_well(*prefill, *decode);
}

class CoordinatorOfATaker : public CoordinatorKilledAtStep {};
INSTANTIATE_TEST_SUITE_P(Killed, CoordinatorOfATaker, ::testing::Values("accept"), kNamed);

TEST_P(CoordinatorOfATaker, IsNotMissed) {
  const Engine prefill = start_engine(), decode = start_engine();
  ASSERT_EQ(prefill->ask("attach prefill"), "ok");
  ASSERT_EQ(decode->ask("attach decode"), "ok");
  ASSERT_EQ(prefill->ask("hand a 1 3 7"), "ok");
  EXPECT_EQ(killed_at(GetParam(), *decode, "take 1"), "a");
  EXPECT_EQ(decode->ask("check"), "ok");
  EXPECT_EQ(decode->ask("finish"), "ok");
  expect_all_well(*prefill, *decode);
}

}  // namespace
}  // namespace aqua
