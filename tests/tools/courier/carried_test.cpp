// SPDX-License-Identifier: Apache-2.0
// Parcels from one server to another: two keepers, two couriers, givers and takers are processes of
// their own. Whoever takes a parcel compares every byte.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "aqua/handoff/pools.hpp"
#include "aqua/handoff/segments.hpp"
#include "tests/base/eventually.hpp"
#include "tests/tools/courier/two_servers.hpp"
#include "tests/tools/courier/with_ucx.hpp"

namespace aqua {
namespace {

class CarriedBetweenServers : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    AQUA_SKIP_WITHOUT_UCX(GetParam());
    servers_.expect_carrier();
  }
  test::TwoServers servers_{20, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Over, CarriedBetweenServers, ::testing::Values("tls", "ucx"),
                         [](const auto& carrier) { return carrier.param; });

TEST_P(CarriedBetweenServers, AParcelArrivesAndItsGiverIsTold) {
  const auto decode = servers_.decode();
  const auto prefill = servers_.prefill();
  ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "a");
  EXPECT_EQ(decode->ask("confirm"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "confirmed");
  EXPECT_EQ(decode->ask("check"), "ok");
  EXPECT_EQ(decode->ask("finish"), "ok");
  EXPECT_EQ(servers_.courier_of_a()->ask("counters"), "1 0 0");
  EXPECT_EQ(servers_.courier_of_b()->ask("counters"), "0 1 0");
}

TEST_P(CarriedBetweenServers, ThereIsNoMoreRoomThanTheRouteHasAndItIsGivenBack) {
  const auto decode = servers_.decode(16);
  const auto prefill = servers_.prefill();
  for (int i = 0; i < 12; ++i) {  // four times as many as the route has room for
    ASSERT_EQ(prefill->ask("carry r" + std::to_string(i) + " 1 3 " + std::to_string(5 + i)), "ok");
    EXPECT_EQ(decode->ask("take 1"), "r" + std::to_string(i));
    EXPECT_EQ(decode->ask("finish"), "ok");
    EXPECT_EQ(prefill->ask("delivered"), "confirmed");
  }
  EXPECT_TRUE(list_segments(servers_.keeper_of_a().socket()).value().empty());
  EXPECT_TRUE(list_segments(servers_.keeper_of_b().socket()).value().empty());
}

TEST_P(CarriedBetweenServers, WhatIsKeptOutlivesItsGiver) {
  const auto prefill = servers_.prefill();
  ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
  ASSERT_EQ(prefill->ask("kept"), "ok");
  prefill->kill();
  const auto decode = servers_.decode();  // and waits for whoever comes
  EXPECT_EQ(decode->ask("take 1"), "a");
}

TEST_P(CarriedBetweenServers, WhoWasToGetItIsToldThatItsGiverHasDied) {
  const auto decode = servers_.decode();
  const auto prefill = servers_.prefill();
  ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
  ASSERT_EQ(prefill->ask("kept"), "ok");
  ASSERT_EQ(prefill->ask("begin b 4"), "ok");
  prefill->kill();
  EXPECT_EQ(decode->ask("cut-off"), "b.4");
  EXPECT_EQ(decode->ask("take 1"), "a");
}

TEST_P(CarriedBetweenServers, AHigherTurnIsWhatArrives) {
  const auto prefill = servers_.prefill();
  ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");  // nobody there has room for it yet
  ASSERT_EQ(prefill->ask("kept"), "ok");
  const auto again = servers_.prefill();
  ASSERT_EQ(again->ask("carry a 9 6 88"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "superseded");
  const auto decode = servers_.decode();
  EXPECT_EQ(decode->ask("take 1"), "a");
  EXPECT_EQ(decode->ask("finish"), "ok");
  EXPECT_EQ(again->ask("delivered"), "confirmed");
  ASSERT_EQ(again->ask("carry b 1 6 99"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "b") << "nothing of a came again";
}

TEST_P(CarriedBetweenServers, TheNextTakerGoesOnUnderAHigherTurnOnEitherServer) {
  auto first = servers_.decode();
  const auto prefill = servers_.prefill();
  ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
  ASSERT_EQ(first->ask("take 1"), "a");
  first.reset();
  const auto second = servers_.decode();
  EXPECT_EQ(second->ask("take 1"), "a");
  EXPECT_EQ(second->ask("finish"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "confirmed");
  EXPECT_TRUE(list_pools(servers_.keeper_of_a().socket()).value()[0].waiting == 0);
}

TEST_P(CarriedBetweenServers, AKeepersEndIsNotTheCouriersEnd) {
  std::uint64_t before = 0;
  {
    const auto decode = servers_.decode();
    const auto prefill = servers_.prefill();
    ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
    ASSERT_EQ(prefill->ask("kept"), "ok");
    ASSERT_EQ(decode->ask("take 1"), "a");
    before = std::stoull(decode->ask("turn"));
    servers_.keeper_of_b().kill();
    servers_.keeper_of_b().start();
  }
  const auto decode = servers_.decode();
  EXPECT_EQ(decode->ask("take 1"), "a") << "the giver's keeper has had it all the time";
  EXPECT_GT(std::stoull(decode->ask("turn")), before) << "of the two the later one speaks";
  servers_.keeper_of_a().kill();
  servers_.keeper_of_a().start();
  const auto prefill = servers_.prefill();
  ASSERT_EQ(prefill->ask("carry b 1 6 77"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "b");
}

TEST_P(CarriedBetweenServers, WhatACourierBroughtIsNotCarriedBack) {
  servers_.carry_back();  // whose courier has more room for it than decode
  const auto decode = servers_.decode(1);
  const auto prefill = servers_.prefill();
  ASSERT_EQ(prefill->ask("carry a 1 3 7"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "a");
  EXPECT_EQ(decode->ask("finish"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "confirmed");
  EXPECT_EQ(servers_.courier_of_a()->ask("counters"), "1 0 0");
  EXPECT_EQ(servers_.courier_of_b()->ask("counters"), "0 1 0");
}

TEST_P(CarriedBetweenServers, WhatIsCancelledThereIsToldItsGiver) {
  const auto prefill = servers_.prefill();
  ASSERT_EQ(prefill->ask("carry a 1 3 7"), "ok");  // for which nobody has room
  while (!cancel_parcel("carried", "a", servers_.keeper_of_b().socket()).ok())
    std::this_thread::yield();
  EXPECT_EQ(prefill->ask("delivered"), "cancelled");
  const auto decode = servers_.decode();
  ASSERT_EQ(prefill->ask("carry b 1 3 8"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "b");
}

}  // namespace
}  // namespace aqua
