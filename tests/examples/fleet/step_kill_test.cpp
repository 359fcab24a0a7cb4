// SPDX-License-Identifier: Apache-2.0
// The coordinator is killed and stopped at each step of a move by KV, and source and destination at
// each step of a move by tokens. Whoever is to die at a step is found there, since another process
// of the move stops at it: every answer is the reference's, token by token, and nothing is left.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>
#include <utility>

#include "tests/coordinator/daemon_process.hpp"
#include "tests/examples/fleet/death.hpp"
#include "tests/examples/fleet/four_engines.hpp"
#include "tests/examples/fleet/one_move.hpp"

namespace aqua::fleet::test {
namespace {

using aqua::testing::DaemonProcess;
using router::test::ask;
using router::test::request_of;

void expect_nothing_left(const Keeper& keeper, const RouterProcess& router, const FleetEngine& a,
                         const FleetEngine& b) {
  EXPECT_TRUE(becomes([&] { return a.holds_nothing() && b.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return keeper.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return router.metric("aqua_router_requests") == 0; }));
}

// --- the coordinator, in a move by KV ------------------------------------------------------------

// `who`: the side whose step it is.
class DeathOfTheCoordinatorInAMove : public ::testing::TestWithParam<Death> {};

TEST_P(DeathOfTheCoordinatorInAMove, ChangesNothing) {
  const Death& death = GetParam();
  const bool source = death.who == std::string("source");
  DaemonProcess coordinator;
  const auto line = [&](bool stops) {
    auto arguments = stops ? armed(death.step, SIGSTOP) : kPace;
    arguments.insert(arguments.end(), {"--coordinator", coordinator.address()});
    return arguments;
  };
  // A source asks who is to speak where the destination does not go on with what it has taken.
  const bool asks = death.step == std::string("asking");
  const Keeper keeper;
  FleetEngine a(keeper, "a", line(source));
  FleetEngine b(keeper, "b", asks ? armed("taken", SIGSTOP) : line(!source));
  const RouterProcess router({a.url(), b.url()});
  FleetEngine& at_the_step = source ? a : b;
  std::jthread killer([&] {
    EXPECT_TRUE(becomes([&] { return at_the_step.child.has_stopped(); })) << "it comes to the step";
    death.signal == SIGKILL ? coordinator.kill() : coordinator.process().stop();
    at_the_step.child.signal(SIGCONT);
    if (asks) b.child.signal(SIGCONT);
  });
  expect_right_though_it_moves(router, {"b"});
  killer.join();
  expect_nothing_left(keeper, router, a, b);
  if (death.signal == SIGSTOP) {
    coordinator.process().signal(SIGCONT);
  } else {
    coordinator.start();
  }
  for (const char* engine : {"a", "b"})
    EXPECT_TRUE(becomes([&] { return router.engine(engine).at("state") == "up"; }));
  expect_right_though_it_moves(router, {"b"});
  EXPECT_GE(moves_done(router, "kv"), 1) << router.get("/admin/v1/moves").dump();
}

std::vector<Death> each_way(const std::vector<std::pair<const char*, const char*>>& places) {
  std::vector<Death> all;
  for (const int signal : {SIGKILL, SIGSTOP}) {
    for (const auto& [who, step] : places) all.push_back({who, step, signal});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(At, DeathOfTheCoordinatorInAMove,
                         ::testing::ValuesIn(each_way({{"source", "reserved"},
                                                       {"source", "copied"},
                                                       {"source", "held"},
                                                       {"source", "handed"},
                                                       {"source", "asking"},
                                                       {"destination", "room"},
                                                       {"destination", "taken"},
                                                       {"destination", "landed"},
                                                       {"destination", "confirmed"},
                                                       {"destination", "granted"}})),
                         [](const auto& death) { return name_of(death.param); });

// --- source and destination, in a move by tokens -------------------------------------------------

// `step`: of the router, which stops there.
class DeathInAMoveByTokens : public ::testing::TestWithParam<Death> {};

TEST_P(DeathInAMoveByTokens, NoTokenIsLostOrDoubledAndNothingIsLeft) {
  const Death& death = GetParam();
  const Keeper keeper;
  FleetEngine a(keeper, "a", kPace), b(keeper, "b", kPace);
  const RouterProcess router =
      dying_router(AQUA_DYING_ROUTER_PROGRAM, {a.url(), b.url()}, death.step, SIGSTOP);
  const auto prompt = prompt_of(kQuestion);
  Answer answer;
  std::atomic<bool> moves_from_a{false};
  bool moved = false;
  std::jthread client([&] {
    answer = ask(router.url(), request_of(prompt, kQuestion, kAnswerTokens), "/v1/completions",
                 [&](const Answer& so_far) {
                   if (so_far.ids.size() < kMovesAfter || std::exchange(moved, true)) return true;
                   moves_from_a = router.engine("a").at("requests") == 1;
                   (void)move_the_only_one(router, true);  // it stops before it says so
                   return true;
                 });
  });
  ASSERT_TRUE(becomes([&] { return router.child.has_stopped(); })) << "it comes to the step";
  FleetEngine& victim = moves_from_a == (death.who == std::string("source")) ? a : b;
  const FleetEngine& other = &victim == &a ? b : a;
  if (death.signal == SIGKILL) {
    victim.child.signal(SIGKILL);
    EXPECT_EQ(victim.child.wait(), 128 + SIGKILL);
  } else {
    victim.child.stop();
  }
  router.child.signal(SIGCONT);
  client.join();
  EXPECT_EQ(answer, reference_answer(prompt, kQuestion, kAnswerTokens)) << answer.error;
  EXPECT_TRUE(moved);
  if (death.signal == SIGSTOP) victim.child.signal(SIGCONT);
  const FleetEngine& last = death.signal == SIGSTOP ? victim : other;
  expect_nothing_left(keeper, router, last, other);
}

INSTANTIATE_TEST_SUITE_P(At, DeathInAMoveByTokens,
                         ::testing::ValuesIn(each_way({{"source", "warm"},
                                                       {"source", "go_on"},
                                                       {"source", "take_over"},
                                                       {"destination", "warm"},
                                                       {"destination", "go_on"},
                                                       {"destination", "take_over"}})),
                         [](const auto& death) { return name_of(death.param); });

}  // namespace
}  // namespace aqua::fleet::test
