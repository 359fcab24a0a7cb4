// SPDX-License-Identifier: Apache-2.0
// The router is killed and stopped, at each step of a move and in the middle of many: killed it
// leaves nothing with its engines, stopped it goes on, and no answer has lost a token.
#include <gtest/gtest.h>
#include <signal.h>

#include <random>
#include <thread>
#include <utility>

#include "tests/examples/fleet/four_engines.hpp"
#include "tests/examples/fleet/one_move.hpp"

namespace aqua::fleet::test {
namespace {

using router::test::ask;
using router::test::request_of;

struct RouterDeath {
  const char* step;
  int signal;
  bool by_tokens = false;
};
std::string name_of_death(const RouterDeath& death) {
  return std::string(death.signal == SIGKILL ? "Killed_" : "Stopped_") + death.step;
}
void PrintTo(const RouterDeath& death, std::ostream* out) {
  *out << name_of_death(death);
}

class DeathOfTheRouterInAMove : public ::testing::TestWithParam<RouterDeath> {};

TEST_P(DeathOfTheRouterInAMove, LeavesNothingOrGoesOn) {
  const RouterDeath& death = GetParam();
  const Keeper keeper;
  const FleetEngine a(keeper, "a", kPace), b(keeper, "b", kPace), beside(keeper, "beside", kPace);
  const auto prompt = prompt_of(7);
  const bool killed = death.signal == SIGKILL;
  const std::uint32_t tokens = killed ? 3000 : 300;  // it is to die before the answer ends
  const auto whole = reference_answer(prompt, 7, 300);
  {
    RouterProcess router =
        dying_router(AQUA_DYING_ROUTER_PROGRAM, {a.url(), b.url()}, death.step, death.signal);
    Answer answer;
    bool moved = false;
    std::jthread client([&] {
      answer = ask(router.url(), request_of(prompt, 7, tokens), "/v1/completions",
                   [&](const Answer& so_far) {
                     if (so_far.ids.size() >= 20 && !std::exchange(moved, true)) {
                       // It may not live to say so.
                       (void)move_the_only_one(router, death.by_tokens);
                     }
                     return true;
                   });
    });
    if (killed) {
      client.join();
      ASSERT_FALSE(answer.done) << "it never came to this step";
      EXPECT_EQ(router.child.wait(), 128 + SIGKILL);
    } else {
      ASSERT_TRUE(becomes([&] { return router.child.has_stopped(); }));
      // Half a second of an engine's time.
      EXPECT_TRUE(ask(beside.url(), request_of(prompt_of(8), 8, 100)).done);
      router.child.signal(SIGCONT);
      client.join();
      EXPECT_EQ(answer, whole) << answer.error;
      EXPECT_TRUE(becomes([&] { return router.metric("aqua_router_requests") == 0; }));
    }
    EXPECT_TRUE(moved);
  }
  EXPECT_TRUE(becomes([&] { return a.holds_nothing() && b.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return keeper.holds_nothing(); }));
  const RouterProcess next({a.url(), b.url()});
  EXPECT_EQ(ask(next.url(), request_of(prompt, 7, 300)), whole);
}

INSTANTIATE_TEST_SUITE_P(
    At, DeathOfTheRouterInAMove,
    ::testing::Values(RouterDeath{"receive", SIGKILL}, RouterDeath{"order", SIGKILL},
                      RouterDeath{"grant", SIGKILL}, RouterDeath{"switched", SIGKILL},
                      RouterDeath{"receive", SIGSTOP}, RouterDeath{"order", SIGSTOP},
                      RouterDeath{"grant", SIGSTOP}, RouterDeath{"switched", SIGSTOP},
                      RouterDeath{"warm", SIGKILL, true}, RouterDeath{"go_on", SIGKILL, true},
                      RouterDeath{"take_over", SIGKILL, true}, RouterDeath{"warm", SIGSTOP, true},
                      RouterDeath{"go_on", SIGSTOP, true}, RouterDeath{"take_over", SIGSTOP, true}),
    [](const auto& death) { return name_of_death(death.param); });

TEST(DeathOfTheRouter, LeavesNothingOnItsEngines) {
  Fleet fleet;
  std::mt19937 random(2);
  std::vector<std::jthread> clients;
  for (std::uint32_t i = 0; i < 16; ++i) {
    clients.emplace_back(
        [&, i] { EXPECT_FALSE(ask(fleet.router->url(), request_of(prompt_of(i), i, 5000)).done); });
  }
  EXPECT_TRUE(becomes([&] { return fleet.router->metric("aqua_router_requests") >= 16; }));
  EXPECT_TRUE(becomes([&] {
    move_around(*fleet.router, random, 4, false);
    return moves_done(*fleet.router, "kv") >= 8;
  }));
  move_around(*fleet.router, random, 4, false);
  fleet.router->child.signal(SIGKILL);
  clients.clear();
  fleet.expect_nothing_left();
}

TEST(DeathOfTheRouter, StoppedInTheMiddleOfMovesItGoesOn) {
  Fleet fleet;
  std::mt19937 random(3);
  Clients clients(fleet.router->url(), 12, 200);
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(becomes([&] { return fleet.router->metric("aqua_router_requests") >= 8; }));
    move_around(*fleet.router, random, 4, false);
    fleet.router->child.stop();
    fleet.await_iterations(20);
    fleet.router->child.signal(SIGCONT);
  }
  clients.expect_all_right();
  fleet.expect_nothing_left();
}

}  // namespace
}  // namespace aqua::fleet::test
