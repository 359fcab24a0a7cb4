// SPDX-License-Identifier: Apache-2.0
// Every order in which things can happen to a move is gone through with the machines themselves:
// tokens reach the client in order, none is lost or doubled, no two speak under one turn, and no
// room is left in the end, whoever dies at whatever step.
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <ostream>
#include <set>
#include <unordered_map>

#include "tests/systems/migration/world.hpp"

namespace aqua::migration {

// For the names of tests.
inline void PrintTo(Kind kind, std::ostream* out) {
  *out << (kind == Kind::kv ? "kv" : "tokens");
}

namespace test {
namespace {

struct Seen {
  std::size_t worlds = 0, rests = 0;
  std::set<SourceState> source{};
  std::set<DestinationState> destination{};
  std::set<RouterState> router{};
};

Seen explore(Kind kind, const Budget& budget) {
  Seen seen;
  std::unordered_multimap<std::size_t, World> known;
  std::deque<const World*> open;
  std::unordered_map<const World*, const World*> from;
  const auto meet = [&](World world, const World* before) {
    const std::size_t hash = world.hash();
    const auto [begin, end] = known.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      if (at->second == world) return;
    }
    open.push_back(&known.emplace(hash, std::move(world))->second);
    from[open.back()] = before;
  };
  const auto path_to = [&](const World* world) {
    std::string path;
    for (; world != nullptr; world = from.at(world)) path = world->text() + "\n" + path;
    return path;
  };
  meet(World(kind, budget), nullptr);
  while (!open.empty()) {
    const World& world = *open.front();
    open.pop_front();
    EXPECT_EQ(world.broken, "") << path_to(&world);
    if (!world.broken.empty()) break;
    if (world.leaves) seen.source.insert(world.leaves->state());
    if (world.comes) seen.destination.insert(world.comes->state());
    seen.router.insert(world.routes.state());
    // What is in the budget need not happen.
    World quiet = world;
    quiet.budget = {};
    // Engines have clocks; without suspicions nobody needs one.
    const auto later = budget.suspicions > 0 ? world.after_too_long() : std::nullopt;
    const bool rests = quiet.steps().empty();
    if (rests && later) {
      meet(*later, &world);
    } else if (rests) {
      seen.rests += 1;
      EXPECT_EQ(world.fault_at_rest(), "") << path_to(&world);
      if (!world.fault_at_rest().empty()) break;
    }
    for (World& next : world.steps()) meet(std::move(next), &world);
  }
  seen.worlds = known.size();
  std::printf("[ MEASURED ] %zu worlds, %zu at rest\n", seen.worlds, seen.rests);
  return seen;
}

class Explored : public ::testing::TestWithParam<Kind> {};

TEST_P(Explored, WithoutFaultsEveryTokenArrivesOnce) {
  const Seen seen = explore(GetParam(), {});
  EXPECT_TRUE(seen.source.contains(SourceState::moved));
  EXPECT_TRUE(seen.source.contains(SourceState::stays)) << "refused";
  EXPECT_TRUE(seen.source.contains(SourceState::gone)) << "ended before";
  EXPECT_GT(seen.rests, 2U);
}

TEST_P(Explored, OneDeathOfAnyoneAtAnyStepLosesNothing) {
  const Seen seen = explore(GetParam(), {.deaths = 1});
  EXPECT_EQ(seen.source.size(), kSourceStates.size());
  EXPECT_EQ(seen.destination.size(), kDestinationStates.size());
  EXPECT_EQ(seen.router.size(), kRouterStates.size());
}

TEST_P(Explored, AClientThatGoesAtAnyStepLeavesNothing) {
  (void)explore(GetParam(), {.cancels = 1, .timeouts = 1});
}

TEST_P(Explored, AMoveThatTakesTooLongOrFailsAtAnyStepLosesNothing) {
  (void)explore(GetParam(), {.timeouts = 1, .failures = 1});
}

TEST_P(Explored, ASourceThatIsTakenForDeadAndIsNotLosesNothing) {
  (void)explore(GetParam(), {.timeouts = 1, .suspicions = 1});
}

TEST_P(Explored, ADeathBesideAMoveThatTakesTooLong) {
  (void)explore(GetParam(), {.deaths = 1, .timeouts = 1});
}

TEST_P(Explored, ASourceThatIsSentOutInAMoveLosesNothing) {
  (void)explore(GetParam(), {.timeouts = 1, .losses = 1});
  (void)explore(GetParam(), {.deaths = 1, .losses = 1});
}

// Room for what it has, for one token more, and for so much that it is held before it fills it.
TEST_P(Explored, AnAnswerThatGrowsWhileItIsCopiedNeverOutgrowsTheRoom) {
  for (const std::uint32_t room : {5U, 6U, 7U, 8U}) {
    (void)explore(GetParam(), {.deaths = 1, .room = room});
    (void)explore(GetParam(), {.failures = 1, .losses = 1, .room = room});
  }
}

TEST(EveryWorld, TellsEachMachineEveryEvent) {
  events_told() = {};
  (void)explore(Kind::kv, {.deaths = 1});
  (void)explore(Kind::kv, {.cancels = 1, .timeouts = 1});
  (void)explore(Kind::tokens, {.failures = 1, .losses = 1, .room = 7});
  EXPECT_EQ(events_told().source.size(), kSourceEvents.size());
  EXPECT_EQ(events_told().destination.size(), kDestinationEvents.size());
  EXPECT_EQ(events_told().router.size(), kRouterEvents.size());
}

INSTANTIATE_TEST_SUITE_P(Each, Explored, ::testing::Values(Kind::kv, Kind::tokens),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace test
}  // namespace aqua::migration
