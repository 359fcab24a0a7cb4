// SPDX-License-Identifier: Apache-2.0
// The coordinator dies at every write of its store, and at random moments under load; what was
// answered is on the disk, no slab is granted or mapped twice, no lease is forgotten: as told by
// what the clients wrote down themselves. The seed is printed; AQUA_TEST_SEED repeats it (as far
// as threads allow), AQUA_CRASH_ROUNDS sets other than 40 random rounds.
#include <gtest/gtest.h>
#include <signal.h>

#include <iostream>

#include "base/concat.hpp"
#include "tests/crash/world.hpp"
#include "tests/kill/dice.hpp"

namespace aqua::crash_test {
namespace {

using kill_test::number_from;
using testing::ChildProcess;

constexpr std::uint64_t kRounds = 40;
constexpr int kWritesSwept = 40;

// The first start too: the file is made, and its tables.
TEST(Crash, AtEveryWriteOfAnEmptyStoreTheNextStartSucceeds) {
  int died = 0;
  for (const char* step : {"write", "torn", "written", "sync"}) {
    for (int count = 1; count <= kWritesSwept; ++count) {
      World world(1);
      ChildProcess first(
          {AQUA_CRASH_DAEMON, concat(step, ":", count, ":kill"), "--data", world.data()});
      if (!first.read_line().empty()) break;  // it listens: there are no more steps
      ++died;
      ASSERT_EQ(first.wait(), 128 + SIGKILL);
      world.settle();
      if (::testing::Test::HasFailure()) return (void)(std::cerr << step << ":" << count << "\n");
    }
  }
  std::cout << "[ MEASURED ] " << died << " places to die before it listens" << std::endl;
  EXPECT_GT(died, 20);
}

TEST(Crash, AtEveryWriteUnderLoadNothingIsForgottenOrGivenTwice) {
  World world(2);
  for (const char* step : {"write", "torn", "written"}) {
    for (int count = 1; count <= kWritesSwept; ++count)
      world.die_at(concat(step, ":", count, ":kill"));
  }
  world.settle();
  world.expect_no_violations();
  world.report();
  EXPECT_GT(world.deaths_at_steps(), 60U) << "the steps were not reached";
}

TEST(Crash, AtRandomMomentsUnderLoadNothingIsForgottenOrGivenTwice) {
  const std::uint64_t seed = number_from("AQUA_TEST_SEED", std::random_device{}());
  const std::uint64_t rounds = number_from("AQUA_CRASH_ROUNDS", kRounds);
  std::cout << "AQUA_TEST_SEED=" << seed << " AQUA_CRASH_ROUNDS=" << rounds << std::endl;
  World world(seed);
  for (std::uint64_t round = 1; round <= rounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(concat("round ", round, " of seed ", seed));
    world.die_at_a_random_moment();
    if (round % 20 == 0) world.settle();
    world.expect_no_violations();
  }
  world.settle();
  world.report();
  EXPECT_GT(world.counts().grants, rounds) << "there was no load";
  EXPECT_GT(world.counts().leases_checked, rounds);
}

TEST(Crash, BehindALogBegunAnewNothingIsForgottenOrGivenTwice) {
  World world(3);
  constexpr int deaths = 5;
  int died = 0;
  for (int life = 0; life < 4 * deaths && died < deaths; ++life)
    died += world.die_behind_a_new_log() ? 1 : 0;
  world.settle();
  world.expect_no_violations();
  world.report();
  EXPECT_EQ(died, deaths);
}

// The judge itself can judge.
TEST(Crash, ForgottenLeasesAndDoubleGrantsAreSeen) {
  const ClientId producer = random_id<ClientTag>(), one = random_id<ClientTag>(),
                 other = random_id<ClientTag>();
  const SlabId slab{producer, 1};
  coordinator::Stored stored;
  ledger::Slab row;
  row.id = slab;
  row.generation = 3;
  row.holder = one;
  row.state = ledger::SlabState::leased;
  stored.image.slabs.push_back(row);
  Records good;
  good.offered(slab, 3);
  good.granted(one, slab, 3);
  good.check(stored);
  EXPECT_TRUE(good.violations().empty());
  good.granted(other, slab, 3);
  EXPECT_EQ(good.violations().size(), 1U) << "granted twice";
  Records forgotten;
  forgotten.granted(one, slab, 3);
  forgotten.offered(slab, 4);
  forgotten.check({});
  EXPECT_EQ(forgotten.violations().size(), 2U) << "a lease and an offer";
  forgotten.check(stored);
  EXPECT_EQ(forgotten.violations().size(), 3U) << "an earlier generation";
  Records resurrected;
  resurrected.granted(one, slab, 3);
  resurrected.returning(slab, 3);
  resurrected.returned(slab, 3);
  resurrected.gone(slab);
  resurrected.check(stored);
  EXPECT_EQ(resurrected.violations().size(), 2U) << "a returned lease and a slab taken back";
}

}  // namespace
}  // namespace aqua::crash_test
