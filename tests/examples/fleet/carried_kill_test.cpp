// SPDX-License-Identifier: Apache-2.0
// Source and destination of a move from one server to another are killed and stopped at each step,
// couriers while a parcel is on its way, and all of them at random moments: every answer is the
// reference's, and nothing is left with engines and keepers.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "tests/examples/fleet/death.hpp"
#include "tests/examples/fleet/two_hosts.hpp"

namespace aqua::fleet::test {
namespace {

using router::test::becomes;

constexpr std::uint32_t kTokens = 300;

Answer reference() {
  return reference_answer(prompt_of(7), 7, kTokens);
}

class DeathBetweenServers : public ::testing::TestWithParam<Death> {};

TEST_P(DeathBetweenServers, NoTokenIsLostOrDoubledAndNothingIsLeft) {
  const Death& death = GetParam();
  const std::size_t victim = death.who == std::string("source") ? 0 : 1;
  TwoHosts hosts([&](std::size_t engine) {
    TwoHosts::Line line{"--iteration-ms", "5"};
    if (engine == victim) line.insert(line.end(), {"--die-at", death.step});
    if (engine == victim && death.signal == SIGSTOP) line.emplace_back("--stop");
    return line;
  });
  const Answer answer =
      hosts.ask_at_a(7, kTokens, [&] { EXPECT_TRUE(move_the_only_one(*hosts.router)); });
  EXPECT_EQ(answer, reference()) << answer.error;
  EXPECT_TRUE(becomes([&] { return hosts.state(victim) == "down"; })) << "it came to this step";
  if (death.signal == SIGKILL) {
    EXPECT_EQ(hosts.engine(victim).child.wait(), 128 + SIGKILL);
    return hosts.expect_nothing_left({victim});
  }
  hosts.engine(victim).child.signal(SIGCONT);
  hosts.expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(
    At, DeathBetweenServers,
    ::testing::Values(
        Death{"source", "reserved", SIGKILL}, Death{"source", "copied", SIGKILL},
        Death{"source", "held", SIGKILL}, Death{"source", "handed", SIGKILL},
        Death{"source", "reserved", SIGSTOP}, Death{"source", "copied", SIGSTOP},
        Death{"source", "held", SIGSTOP}, Death{"source", "handed", SIGSTOP},
        Death{"destination", "room", SIGKILL}, Death{"destination", "taken", SIGKILL},
        Death{"destination", "landed", SIGKILL}, Death{"destination", "confirmed", SIGKILL},
        Death{"destination", "granted", SIGKILL}, Death{"destination", "room", SIGSTOP},
        Death{"destination", "taken", SIGSTOP}, Death{"destination", "landed", SIGSTOP},
        Death{"destination", "confirmed", SIGSTOP}, Death{"destination", "granted", SIGSTOP}),
    [](const auto& death) { return name_of(death.param); });

// By the host of the courier that dies; the first one sends.
class DeathOfACourier : public ::testing::TestWithParam<std::size_t> {};

// The parcel is complete and cannot arrive: the courier that receives is stopped. It goes on once
// there is another one in the place of who was killed, and the answer moves all the same.
TEST_P(DeathOfACourier, InAMoveDelaysTheMoveAndLosesNothing) {
  TwoHosts hosts;
  const Answer answer = hosts.ask_at_a(7, kTokens, [&] {
    hosts.courier(1).stop();
    EXPECT_TRUE(move_the_only_one(*hosts.router));
    EXPECT_TRUE(becomes([&] { return hosts.parcels_at(0) == 1; }));
    hosts.replace_courier(GetParam());
    hosts.courier(1).signal(SIGCONT);
  });
  EXPECT_EQ(answer, reference()) << answer.error;
  EXPECT_EQ(moves_done(*hosts.router, "kv"), 1) << hosts.router->get("/admin/v1/moves").dump();
  hosts.expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(Of, DeathOfACourier, ::testing::Values(0U, 1U), [](const auto& host) {
  return host.param == 0 ? std::string("TheSender") : std::string("TheReceiver");
});

// The destination is killed while its parcel waits at the other courier: nobody of its role comes.
TEST(DeathBehindACourier, LeavesNoParcelOnTheWay) {
  TwoHosts hosts;
  const Answer answer = hosts.ask_at_a(7, kTokens, [&] {
    hosts.courier(1).stop();
    EXPECT_TRUE(move_the_only_one(*hosts.router));
    EXPECT_TRUE(becomes([&] { return hosts.parcels_at(0) == 1; }));
    hosts.engine(1).child.signal(SIGKILL);
    EXPECT_EQ(hosts.engine(1).child.wait(), 128 + SIGKILL);
    EXPECT_TRUE(becomes([&] { return hosts.state(1) == "down"; }));
    hosts.courier(1).signal(SIGCONT);
  });
  EXPECT_EQ(answer, reference()) << answer.error;
  hosts.expect_nothing_left({1});
}

// KV is in memory of the engine's own: the answer goes on, and moves once another keeper is there.
TEST(DeathOfAKeeperBetweenServers, LeavesTheAnswerWhereItIsAndItMovesWithTheNext) {
  constexpr std::uint32_t kLong = 1200;
  TwoHosts hosts;
  const Answer answer = hosts.ask_at_a(7, kLong, [&] {
    hosts.keeper(0).kill();
    EXPECT_TRUE(becomes([&] { return hosts.engine(0).metric("fleet_keeper_away") == 1; }));
    EXPECT_TRUE(becomes([&] { return hosts.router->engine("a").at("pool_away") == true; }));
    hosts.keeper(0).start_again();
    for (const std::size_t engine : {0U, 2U}) {
      EXPECT_TRUE(becomes([&] { return hosts.engine(engine).metric("fleet_rejoins_total") == 1; }));
    }
    EXPECT_TRUE(becomes([&] { return hosts.router->engine("a").at("pool_away") == false; }));
    EXPECT_TRUE(move_the_only_one(*hosts.router));
  });
  EXPECT_EQ(answer, reference_answer(prompt_of(7), 7, kLong)) << answer.error;
  EXPECT_EQ(moves_done(*hosts.router, "kv"), 1) << hosts.router->get("/admin/v1/moves").dump();
  hosts.expect_nothing_left();
}

// AQUA_FLEET_CARRIED_KILLS: so many engines and couriers are killed or stopped.
TEST(DeathBetweenServersAtRandom, OfEnginesAndCouriersUnderLoadAndMovesNoAnswerIsWrong) {
  const char* const given = std::getenv("AQUA_FLEET_CARRIED_KILLS");
  const int kills = given == nullptr ? 4 : std::atoi(given);
  TwoHosts hosts;
  std::mt19937 random(static_cast<unsigned>(kills));
  Clients clients(hosts.url(), 8, 200);
  EXPECT_TRUE(becomes([&] { return hosts.router->metric("aqua_router_requests") >= 8; }));
  for (int kill = 0; kill < kills; ++kill) {
    move_around(*hosts.router, random, TwoHosts::kEngines, false);
    if (kill % 2 == 0) {
      hosts.replace_courier(random() % 2);
      continue;
    }
    const std::size_t victim = random() % TwoHosts::kEngines;
    const bool dies = random() % 2 == 0;
    dies ? hosts.engine(victim).child.signal(SIGKILL) : hosts.engine(victim).child.stop();
    EXPECT_TRUE(becomes([&] { return hosts.state(victim) == "down"; }));
    dies ? hosts.replace(victim) : hosts.engine(victim).child.signal(SIGCONT);
    EXPECT_TRUE(becomes([&] { return hosts.state(victim) == "up"; })) << kill;
  }
  EXPECT_TRUE(becomes([&] {
    move_around(*hosts.router, random, TwoHosts::kEngines, false);
    return moves_done(*hosts.router, "kv") > 0;
  }));
  clients.expect_all_right();
  hosts.expect_nothing_left();
}

}  // namespace
}  // namespace aqua::fleet::test
