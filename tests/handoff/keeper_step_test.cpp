// SPDX-License-Identifier: Apache-2.0
// A keeper that is killed when it has given a parcel to its taker, and has not answered.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "aqua/handoff/pools.hpp"
#include "tests/keeper/kept_descriptors.hpp"
#include "tests/keeper/peer_program.hpp"

namespace aqua {
namespace {

TEST(KeeperKilledAtItsStep, AcceptedGivesNobodyTheParcelAndMembersBeginAnew) {
  test::KeeperProcess keeper;
  const std::ptrdiff_t before = test::kept_descriptors(keeper);
  keeper.kill();
  keeper.start({AQUA_STOPPING_KEEPER, keeper.socket(), "accepted"});
  test::PeerProgram prefill(keeper.socket()), decode(keeper.socket());
  ASSERT_EQ(prefill.ask("attach prefill"), "ok");
  ASSERT_EQ(decode.ask("attach decode"), "ok");
  ASSERT_EQ(prefill.ask("hand a 1 3 7"), "ok");
  decode.post("take 1");
  ASSERT_EQ(keeper.process().read_line(), "at accepted");
  keeper.kill();
  EXPECT_EQ(decode.answer(), "no keeper");
  keeper.start();
  EXPECT_TRUE(list_pools(keeper.socket())->empty());
  ASSERT_EQ(prefill.ask("attach prefill"), "ok");
  ASSERT_EQ(decode.ask("attach decode"), "ok");
  ASSERT_EQ(prefill.ask("hand a 2 3 8"), "ok");
  EXPECT_EQ(decode.ask("take 1"), "a") << "byte for byte";
  EXPECT_EQ(decode.ask("append"), "ok");
  EXPECT_EQ(decode.ask("check"), "ok");
  EXPECT_EQ(decode.ask("finish"), "ok");
  EXPECT_EQ(decode.ask("leave"), "ok");
  EXPECT_EQ(prefill.ask("leave"), "ok");
  while (!list_pools(keeper.socket())->empty()) std::this_thread::yield();
  EXPECT_EQ(test::kept_descriptors(keeper), before);
}

}  // namespace
}  // namespace aqua
