// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/recovery_costs.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace aqua::kv_stream::test {
namespace {

struct Measured {
  std::uint64_t amount;
  double seconds;
};

TEST(RecoveryCosts, AreThoseOfTheStartUntilSomethingWasMeasured) {
  RecoveryCosts costs({.link_bytes_per_second = 5e6, .prefill_seconds_per_token = 0.25});
  EXPECT_EQ(costs.link_bytes_per_second(), 5e6);
  EXPECT_EQ(costs.prefill_seconds_per_token(), 0.25);
  costs.copied(100, 0.5);
  EXPECT_EQ(costs.link_bytes_per_second(), 200);
  EXPECT_EQ(costs.prefill_seconds_per_token(), 0.25);
  EXPECT_TRUE(costs.copies_measured());
  EXPECT_FALSE(costs.computing_measured());
  costs.computed(100, 0.5);
  EXPECT_EQ(costs.prefill_seconds_per_token(), 0.005);
}

TEST(RecoveryCosts, AreQuotientsOfSums) {
  struct Case {
    std::vector<Measured> measured;
    double bytes_per_second;
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (const Case& each :
       std::vector<Case>{{{}, 1e9},
                         {{{0, 1}}, 1e9},                 // nothing
                         {{{100, 0}}, 1e9},               // no time
                         {{{100, -1}, {100, inf}}, 1e9},  // no time that there is
                         {{{100, 1}, {100, 1}}, 100},
                         {{{100, 1}, {0, 50}, {7, 0}}, 100},            // these tell nothing
                         {{{1'000'000, 1}, {1, 0.001}}, 999'002.0}}) {  // a call weighs little
    RecoveryCosts costs;
    for (const Measured& one : each.measured) costs.copied(one.amount, one.seconds);
    EXPECT_NEAR(costs.link_bytes_per_second(), each.bytes_per_second, each.bytes_per_second * 2e-3);
  }
}

TEST(RecoveryCosts, OfWhatWasMeasuredLongAgoLittleIsLeft) {
  RecoveryCosts costs;
  costs.computed(1000, 1000);
  for (int i = 0; i < 7; ++i) costs.computed(1, 1e-9);
  EXPECT_NEAR(costs.prefill_seconds_per_token(), 500 / (500 + 5.3), 1e-2) << "half is left";
  for (int i = 0; i < 200; ++i) costs.computed(1000, 1);
  EXPECT_NEAR(costs.prefill_seconds_per_token(), 0.001, 1e-6);
}

}  // namespace
}  // namespace aqua::kv_stream::test
