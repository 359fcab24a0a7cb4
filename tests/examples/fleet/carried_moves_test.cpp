// SPDX-License-Identifier: Apache-2.0
// Answers that move by segments, whose bytes are copied: between engines of one keeper, and between
// those of two, over couriers. Each is what the model says without pages, batches or moves.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "serve/crossed.hpp"
#include "tests/examples/fleet/two_hosts.hpp"

namespace aqua::fleet::test {
namespace {

using router::test::ask;
using router::test::becomes;
using router::test::request_of;

constexpr std::uint32_t kMovedTokens = 400;
const std::vector<std::string> kBySegments{"--iteration-ms", "10", "--carrier", "segments"};

// An answer that moves between a and b after each 23 tokens, until four moves have been done: how
// many one has time for is the machine's.
void expect_right_when_moved(const RouterProcess& router) {
  const auto prompt = prompt_of(3);
  const Answer expected = reference_answer(prompt, 3, kMovedTokens);
  for (int asked = 0; asked < 10 && moves_done(router, "kv") < 4; ++asked) {
    std::size_t next = 23;
    const Answer answer = ask(router.url(), request_of(prompt, 3, kMovedTokens), "/v1/completions",
                              [&](const Answer& so_far) {
                                if (so_far.ids.size() < next) return true;
                                next += 23;
                                (void)move_the_only_one(router);
                                return true;
                              });
    ASSERT_EQ(answer, expected) << answer.error;
  }
  EXPECT_GE(moves_done(router, "kv"), 4) << router.get("/admin/v1/moves").dump();
  EXPECT_EQ(moves_done(router, "tokens"), 0);
}

// Finished blocks cross while it decodes, in one round at least and two at most, and then the rest,
// of which there is none where the last block is full.
TEST(CarriedMoves, AnAnswerThatMovedOnOneServerIsTheOneThatStayed) {
  const Keeper keeper;
  const FleetEngine a(keeper, "a", kBySegments), b(keeper, "b", kBySegments);
  const RouterProcess router({a.url(), b.url()}, {"--hold", "20000"});
  expect_right_when_moved(router);
  EXPECT_TRUE(becomes([&] { return a.holds_nothing() && b.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return keeper.holds_nothing(); }));
  const double moved = a.metric("fleet_moved_in_total") + b.metric("fleet_moved_in_total");
  const double copies = a.metric("fleet_copies_total") + b.metric("fleet_copies_total");
  EXPECT_GT(copies, moved);
  const double moves = moves_done(router, "kv") +
                       router.metric("aqua_router_moves_total", "failed") +
                       router.metric("aqua_router_moves_total", "ended");
  EXPECT_LE(copies, 3 * moves);
}

// Copies of the prompt alone take hundreds of milliseconds, in which it says tens of tokens.
TEST(CarriedMoves, AnAnswerGoesOnWhileItIsCopied) {
  const Keeper keeper;
  std::vector<std::string> slow = kBySegments;
  slow.insert(slow.end(), {"--link-kb-per-s", "25"});
  const FleetEngine a(keeper, "a", slow), b(keeper, "b", kBySegments);
  const RouterProcess router({a.url(), b.url()}, {"--hold", "60000"});
  const auto prompt = prompt_of(3);
  double before = -1;
  const Answer answer = ask(router.url(), request_of(prompt, 3, kMovedTokens), "/v1/completions",
                            [&](const Answer& so_far) {
                              if (so_far.ids.size() < 23 || before >= 0) return true;
                              EXPECT_EQ(router.engine("a").at("requests"), 1);
                              before = a.metric("fleet_iterations_total");
                              EXPECT_TRUE(move_the_only_one(router));
                              return true;
                            });
  EXPECT_EQ(answer, reference_answer(prompt, 3, kMovedTokens)) << answer.error;
  EXPECT_EQ(moves_done(router, "kv"), 1) << router.get("/admin/v1/moves").dump();
  EXPECT_GE(a.metric("fleet_iterations_total") - before, 10);
  EXPECT_GE(a.metric("fleet_copies_total"), 2);
  EXPECT_LE(a.metric("fleet_copies_total"), 3);
  EXPECT_TRUE(becomes([&] { return a.holds_nothing() && b.holds_nothing(); }));
}

TEST(CarriedMoves, AnAnswerThatMovedToAnotherServerIsTheOneThatStayed) {
  TwoHosts hosts;
  expect_right_when_moved(*hosts.router);
  hosts.expect_nothing_left();
}

TEST(CarriedMoves, WithoutAWayTokensMove) {
  const Keeper keeper, other;
  const FleetEngine a(keeper, "a", kBySegments), b(other, "b", kBySegments);
  const RouterProcess router({a.url(), b.url()});
  const auto prompt = prompt_of(5);
  const Answer answer = ask_and_move(router, prompt, 5, 200);
  EXPECT_EQ(answer, reference_answer(prompt, 5, 200)) << answer.error;
  EXPECT_EQ(moves_done(router, "tokens"), 1);
  EXPECT_EQ(moves_done(router, "kv"), 0);
}

// Within both servers and between them, many at a time.
TEST(CarriedMoves, OfManyAnswersOnTwoServersNoTokenIsLostOrDoubled) {
  TwoHosts hosts([](std::size_t) { return TwoHosts::Line{"--iteration-ms", "25"}; });
  std::mt19937 random(1);
  Clients clients(hosts.url(), 24, 200);
  EXPECT_TRUE(becomes([&] { return hosts.router->metric("aqua_router_requests") >= 24; }));
  std::map<bool, std::set<std::uint64_t>> done;  // by whether it was between servers
  EXPECT_TRUE(becomes([&] {
    move_around(*hosts.router, random, TwoHosts::kEngines, false);
    const Json all = hosts.router->get("/admin/v1/moves");
    for (const Json& move : all.value("last", Json::array())) {
      if (move.at("kind") != "kv" || move.at("end") != "done") continue;
      const auto host = [&](const char* end) {
        return TwoHosts::host_of(
            static_cast<std::size_t>(move.at(end).get<std::string>().front() - 'a'));
      };
      done[host("from") != host("to")].insert(move.at("number").get<std::uint64_t>());
    }
    return done[false].size() >= 10 && done[true].size() >= 20;
  })) << hosts.router->metric("aqua_router_moves_total", "failed");
  clients.expect_all_right();
  hosts.expect_nothing_left();
}

TEST(CarriedMoves, AClientThatVanishesInAMoveLeavesNothing) {
  TwoHosts hosts;
  for (std::uint32_t more = 0; more < 3; ++more) {
    std::size_t end = SIZE_MAX;
    (void)ask(hosts.url(), request_of(prompt_of(2), 2, 5000), "/v1/completions",
              [&](const Answer& so_far) {
                if (so_far.ids.size() == 20) {
                  EXPECT_TRUE(move_the_only_one(*hosts.router));
                  end = so_far.ids.size() + more;
                }
                return so_far.ids.size() < end;
              });
    hosts.expect_nothing_left();
  }
}

TEST(Crossed, IsReadAsItWasWrittenAndNothingElse) {
  const std::vector<std::uint32_t> fills{3, 5, 6}, ids{17, 4};
  const std::string copied = state_of(fills, ids);
  const auto read = crossed_of(copied, true);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->fills, fills);
  EXPECT_EQ(read->ids, ids);
  EXPECT_EQ(crossed_of(state_of(ids), false)->ids, ids);
  EXPECT_TRUE(crossed_of(state_of(fills, {}), true)->ids.empty());
  const std::vector<std::uint32_t> none{}, many{1, 2, 3, 4}, again{3, 3}, zero{0, 3};
  for (const auto& wrong : {none, many, again, zero})
    EXPECT_FALSE(crossed_of(state_of(wrong, ids), true));
  for (std::size_t cut = 0; cut < 16; ++cut) EXPECT_FALSE(crossed_of(copied.substr(0, cut), true));
  EXPECT_FALSE(crossed_of("123", false));
}

}  // namespace
}  // namespace aqua::fleet::test
