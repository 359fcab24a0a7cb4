// SPDX-License-Identifier: Apache-2.0
// Kills at random moments, under load, with reclaims going on. The seed is printed; set
// AQUA_TEST_SEED to repeat it, and AQUA_KILL_ROUNDS for other than 10 rounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "base/concat.hpp"
#include "tests/kill/dice.hpp"
#include "tests/kill/rig.hpp"

namespace aqua::kill_test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kRounds = 10;
constexpr milliseconds kReclaimDeadline{500};

void maybe_reclaim(Rig& rig, Dice& dice) {
  const Actor producer{Role::producer, static_cast<unsigned>(dice.below(2))};
  if (!rig.running(producer) || dice.one_in(3)) return;
  const std::size_t slab = NodeOptions{}.slab_bytes;
  rig.reclaim(producer, slab * (1 + dice.below(rig.full_target() / slab)), kReclaimDeadline);
}

void play_round(Rig& rig, Dice& dice) {
  maybe_reclaim(rig, dice);
  const std::size_t victims = dice.one_in(4) ? 2 : 1;  // one may die while another is away
  for (std::size_t i = 0; i < victims; ++i) {
    dice.wait();
    const Actor& victim = rig.actors()[dice.below(rig.actors().size())];
    if (rig.running(victim)) rig.kill(victim);
  }
  dice.wait();
  rig.expect_one_holder("after a death");
  maybe_reclaim(rig, dice);
  for (const Actor& actor : rig.actors()) {
    if (!rig.running(actor)) rig.start(actor);
  }
}

TEST(RandomKills, LoseNothingShowNothingLeaveNothing) {
  const std::uint64_t seed = number_from("AQUA_TEST_SEED", std::random_device{}());
  const std::uint64_t rounds = number_from("AQUA_KILL_ROUNDS", kRounds);
  std::cout << "AQUA_TEST_SEED=" << seed << " AQUA_KILL_ROUNDS=" << rounds << std::endl;
  Dice dice(seed);
  Rig rig(2);
  for (std::uint64_t round = 1; round <= rounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(concat("round ", round, " of seed ", seed));
    rig.tell(concat("--- round ", round));
    play_round(rig, dice);
    rig.verify("after the kills");
    rig.settle("in the end");
    if (::testing::Test::HasFatalFailure()) break;
    rig.verify("in the end");
    rig.expect_one_holder("in the end");
    rig.sweep("in the end");
  }
}

}  // namespace
}  // namespace aqua::kill_test
