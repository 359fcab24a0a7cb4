// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/network.hpp"

#include <gtest/gtest.h>

namespace aqua::sim {
namespace {

constexpr Picos kSecond = kPicosPerSecond;

// When each flow ends, by number.
std::vector<double> ends(Network& network, std::size_t flows) {
  std::vector<double> at(flows);
  while (!network.idle()) {
    const Picos now = network.next_change();
    for (const auto& ended : network.advance(now)) at[ended.flow - 1] = seconds(now);
  }
  return at;
}

TEST(Network, AloneOnALinkAFlowHasAllOfIt) {
  Network network;
  const LinkId link = network.add_link("l", 100);
  network.start({.bytes = 50, .delay = kSecond, .links = {link}}, 0);
  EXPECT_NEAR(ends(network, 1)[0], 1.5, 1e-9);
}

TEST(Network, TwoFlowsShareAndTheSecondTakesOverWhatTheFirstLeaves) {
  Network network;
  const LinkId link = network.add_link("l", 100);
  network.start({.bytes = 50, .links = {link}}, 0);
  network.start({.bytes = 150, .links = {link}}, 0);
  const auto at = ends(network, 2);
  EXPECT_NEAR(at[0], 1, 1e-9);  // 50 at 50
  EXPECT_NEAR(at[1], 2, 1e-9);  // 50 at 50, then 100 at 100
}

// A crosses both links, B the narrow one, C the wide one: A and B get 50 each, C what A leaves.
TEST(Network, SharesAreMaxMinFair) {
  Network network;
  const LinkId narrow = network.add_link("narrow", 100), wide = network.add_link("wide", 400);
  network.start({.bytes = 50, .links = {narrow, wide}}, 0);
  network.start({.bytes = 50, .links = {narrow}}, 0);
  network.start({.bytes = 350, .links = {wide}}, 0);
  for (const double at : ends(network, 3)) EXPECT_NEAR(at, 1, 1e-9);
}

TEST(Network, ALaterFlowSlowsTheFirstFromThenOn) {
  Network network;
  const LinkId link = network.add_link("l", 100);
  network.start({.bytes = 100, .links = {link}}, 0);
  network.start({.bytes = 100, .delay = kSecond / 2, .links = {link}}, 0);
  const auto at = ends(network, 2);
  EXPECT_NEAR(at[0], 1.5, 1e-9);
  EXPECT_NEAR(at[1], 2, 1e-9);
}

TEST(Network, CountsTheBytesThatALinkHasMoved) {
  Network network;
  const LinkId used = network.add_link("used", 100), unused = network.add_link("unused", 100);
  network.start({.bytes = 70, .links = {used}}, 0);
  (void)ends(network, 1);
  EXPECT_NEAR(network.bytes_moved(used, kSecond), 70, 1e-6);
  EXPECT_EQ(network.bytes_moved(unused, kSecond), 0);
}

TEST(Network, AFlowWithoutBytesEndsAfterItsDelay) {
  Network network;
  const LinkId link = network.add_link("l", 100);
  network.start({.bytes = 0, .delay = kSecond, .links = {link}}, 0);
  EXPECT_NEAR(ends(network, 1)[0], 1, 1e-9);
}

}  // namespace
}  // namespace aqua::sim
