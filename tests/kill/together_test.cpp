// SPDX-License-Identifier: Apache-2.0
// The coordinator and a producer die, together or one soon after the other, and the coordinator
// comes back alone, before or after the consumers have moved off by themselves. Set
// AQUA_KILL_TOGETHER_ROUNDS for other than 2 rounds, AQUA_TEST_SEED to repeat a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>

#include "base/concat.hpp"
#include "tests/kill/dice.hpp"
#include "tests/kill/proc.hpp"
#include "tests/kill/rig.hpp"

namespace aqua::kill_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kFleetRounds = 2, kFleets = 2;
constexpr unsigned kPairs = 2;
constexpr seconds kSettled{30};
constexpr milliseconds kMovingOff{2500};  // consumers look at each producer once a second
constexpr double kMostCalls = 20;         // a second, of any client
constexpr milliseconds kLooking{1000};    // the least time over which calls are counted

class Together {
 public:
  explicit Together(std::uint64_t seed) : dice_(seed), rig_(kPairs) {}

  void play(std::uint64_t round) {
    rig_.tell(concat("--- round ", round));
    const Actor coordinator{Role::coordinator, 0};
    const Actor producer{Role::producer, static_cast<unsigned>(dice_.below(kPairs))};
    const bool together = !dice_.one_in(3);
    rig_.kill(dice_.one_in(2) ? coordinator : producer);
    if (!together) dice_.wait();
    for (const Actor& victim : {coordinator, producer}) {
      if (rig_.running(victim)) rig_.kill(victim);
    }
    dice_.wait(kMovingOff);
    rig_.start(coordinator);
    expect_no_orphans_and_no_hammering();
    rig_.verify("without the producer");
    rig_.expect_one_holder("without the producer");
    rig_.start(producer);
    rig_.settle("with the producer");
    rig_.verify("in the end");
  }

 private:
  // Calls to the coordinator of each node that runs, since its start.
  std::map<Actor, double> calls() {
    std::map<Actor, double> made;
    for (const Actor& node : rig_.nodes()) {
      if (!rig_.running(node)) continue;
      const Json status = rig_.ask(node, {{"do", "status"}});
      EXPECT_FALSE(status.is_null()) << to_string(node) << " tells nothing";
      if (!status.is_null()) made[node] = status.at("calls");
    }
    return made;
  }

  // Why the ledger and the consumers' maps differ; "" when they agree.
  std::string differing() {
    const auto now = rig_.state();
    if (!now) return "the coordinator does not answer";
    for (const ledger::Slab& slab : now->slabs) {
      if (slab.state == ledger::SlabState::orphaned)
        return concat("slab ", to_string(slab.id), " is an orphan");
    }
    for (const Actor& node : rig_.nodes()) {
      if (!rig_.running(node)) continue;
      if (rig_.find(*now, node) == nullptr) return concat(to_string(node), " is no client");
      if (node.role != Role::consumer) continue;
      const std::size_t maps = mapped_slabs(rig_.pid(node)).size() - kOwnSlabs;
      const std::size_t held = rig_.held_by(*now, node);
      if (maps != held) return concat(to_string(node), " holds ", held, " slabs and maps ", maps);
    }
    return {};
  }

  void expect_no_orphans_and_no_hammering() {
    const auto before = calls();
    const auto began = Clock::now();
    std::string why;
    EXPECT_TRUE(eventually(kSettled, [&] { return (why = differing()).empty(); })) << why;
    (void)eventually(kLooking,
                     [&] { return Clock::now() - began >= kLooking; });  // a rate takes time
    const std::chrono::duration<double> took = Clock::now() - began;
    for (const auto& [node, made] : calls()) {
      const auto had = before.find(node);
      if (had == before.end()) continue;  // told above
      const double rate = (made - had->second) / took.count();
      rig_.tell(concat(to_string(node), ": ", rate, " calls a second"));
      EXPECT_LE(rate, kMostCalls) << to_string(node);
    }
  }

  Dice dice_;
  Rig rig_;
};

// Each fleet plays its share of the rounds; ctest runs them side by side.
class KilledTogether : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(KilledTogether, CoordinatorAndProducerLeaveNoOrphanAndNobodyWhoHammers) {
  const std::uint64_t seed = number_from("AQUA_TEST_SEED", std::random_device{}());
  const std::uint64_t all = number_from("AQUA_KILL_TOGETHER_ROUNDS", kFleetRounds);
  const std::uint64_t rounds = all / kFleets + (GetParam() < all % kFleets ? 1 : 0);
  std::cout << "AQUA_TEST_SEED=" << seed << ", " << rounds << " of " << all << " rounds"
            << std::endl;
  Together together(seed + GetParam());
  for (std::uint64_t round = 1; round <= rounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(concat("round ", round, " of seed ", seed));
    together.play(round);
  }
}

INSTANTIATE_TEST_SUITE_P(Fleets, KilledTogether, ::testing::Range(std::uint64_t{0}, kFleets));

}  // namespace
}  // namespace aqua::kill_test
