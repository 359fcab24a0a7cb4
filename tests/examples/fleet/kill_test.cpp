// SPDX-License-Identifier: Apache-2.0
// Source and destination are killed and stopped at each step of a move by KV, and anyone but the
// keeper at random moments: every answer is the reference's, token by token, and nothing is left in
// the pool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "tests/coordinator/daemon_process.hpp"
#include "tests/examples/fleet/death.hpp"
#include "tests/examples/fleet/four_engines.hpp"
#include "tests/examples/fleet/one_move.hpp"

namespace aqua::fleet::test {
namespace {

using aqua::testing::DaemonProcess;
using router::test::becomes;

class DeathInAMove : public ::testing::TestWithParam<Death> {};

TEST_P(DeathInAMove, NoTokenIsLostOrDoubledAndNothingIsLeft) {
  const Death& death = GetParam();
  const bool source = death.who == std::string("source");
  const Keeper keeper;
  const std::string stops = death.destination_stops;
  FleetEngine a(keeper, "engine-a", source ? armed(death.step, death.signal) : kPace);
  FleetEngine b(keeper, "engine-b",
                !source          ? armed(death.step, death.signal)
                : !stops.empty() ? armed(death.destination_stops, SIGSTOP)
                                 : kPace);
  const FleetEngine c(keeper, "engine-c", kPace);
  const RouterProcess router({a.url(), b.url(), c.url()});
  expect_right_though_it_moves(router, {"b", "c"});
  FleetEngine& dead = source ? a : b;
  EXPECT_TRUE(becomes([&] { return router.engine(source ? "a" : "b").at("state") == "down"; }))
      << "it came to this step";
  if (death.signal == SIGKILL) {
    EXPECT_EQ(dead.child.wait(), 128 + SIGKILL);
  } else {
    dead.child.signal(SIGCONT);
    EXPECT_TRUE(becomes([&] { return dead.holds_nothing(); })) << "it is told, and frees";
  }
  if (!stops.empty()) b.child.signal(SIGCONT);
  EXPECT_TRUE(becomes([&] { return c.holds_nothing() && (source ? b : a).holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return keeper.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return router.metric("aqua_router_requests") == 0; }));
}

INSTANTIATE_TEST_SUITE_P(
    At, DeathInAMove,
    ::testing::Values(
        Death{"source", "reserved", SIGKILL}, Death{"source", "copied", SIGKILL},
        Death{"source", "held", SIGKILL}, Death{"source", "handed", SIGKILL},
        Death{"source", "asking", SIGKILL, "taken"}, Death{"source", "asking", SIGSTOP, "taken"},
        Death{"source", "reserved", SIGSTOP}, Death{"source", "copied", SIGSTOP},
        Death{"source", "held", SIGSTOP}, Death{"source", "handed", SIGSTOP},
        Death{"destination", "room", SIGKILL}, Death{"destination", "taken", SIGKILL},
        Death{"destination", "landed", SIGKILL}, Death{"destination", "confirmed", SIGKILL},
        Death{"destination", "granted", SIGKILL}, Death{"destination", "room", SIGSTOP},
        Death{"destination", "taken", SIGSTOP}, Death{"destination", "landed", SIGSTOP},
        Death{"destination", "confirmed", SIGSTOP}, Death{"destination", "granted", SIGSTOP}),
    [](const auto& death) { return name_of(death.param); });

// AQUA_FLEET_KILLS: so many die or are stopped, and more where no move of a kind was done by then.
// An answer that breaks off with the router is right as far as it came.
TEST(DeathAtRandom, OfAnyoneUnderLoadAndMovesNoAnswerIsWrong) {
  constexpr std::size_t kEngines = 4, kRouter = kEngines, kCoordinator = kEngines + 1;
  const char* const given = std::getenv("AQUA_FLEET_KILLS");
  const int kills = given == nullptr ? 6 : std::atoi(given);
  DaemonProcess coordinator;
  Fleet fleet({"--coordinator", coordinator.address()});
  std::mt19937 random(static_cast<unsigned>(kills));
  Clients clients(fleet.router->url(), 12, 200);
  EXPECT_TRUE(becomes([&] { return fleet.router->metric("aqua_router_requests") >= 8; }));
  const auto stop_a_while = [&](const aqua::testing::ChildProcess& process) {
    process.stop();
    fleet.await_iterations(20);
    process.signal(SIGCONT);
  };
  bool is_any_by_kv = false, is_any_by_tokens = false;  // that was done
  const auto look_at_moves = [&] {
    is_any_by_kv |= moves_done(*fleet.router, "kv") > 0;
    is_any_by_tokens |= moves_done(*fleet.router, "tokens") > 0;
  };
  const auto wants_more = [&](int kill) {
    if (kill < kills) return true;
    look_at_moves();
    return !(is_any_by_kv && is_any_by_tokens) && kill < 4 * kills;
  };
  for (int kill = 0; wants_more(kill); ++kill) {
    // The router's death comes first, so that short runs have it.
    const std::size_t victim = kill == 0 ? kRouter : random() % (kEngines + 2);
    const bool dies = kill == 0 || random() % 2 == 0;
    for (unsigned i = 0; i <= random() % 3; ++i)
      move_around(*fleet.router, random, kEngines, kill % 2 == 1);
    if (victim == kRouter && dies) {
      look_at_moves();
      clients.router_dies();
      fleet.replace_router();
      clients.router_is_back();
    } else if (victim == kRouter) {
      stop_a_while(fleet.router->child);
    } else if (victim == kCoordinator && dies) {
      coordinator.kill();
      fleet.await_iterations(20);
      coordinator.start();
    } else if (victim == kCoordinator) {
      stop_a_while(coordinator.process());
    } else {
      dies ? fleet.engine(victim).child.signal(SIGKILL) : fleet.engine(victim).child.stop();
      EXPECT_TRUE(becomes([&] { return fleet.state(victim) == "down"; }));
      dies ? fleet.replace(victim) : fleet.engine(victim).child.signal(SIGCONT);
      EXPECT_TRUE(becomes([&] { return fleet.state(victim) == "up"; })) << kill;
    }
  }
  EXPECT_TRUE(is_any_by_kv) << "else nothing died in a move by KV";
  EXPECT_TRUE(is_any_by_tokens) << "else nothing died in a move by tokens";
  clients.expect_all_right();
  fleet.expect_nothing_left();
}

}  // namespace
}  // namespace aqua::fleet::test
