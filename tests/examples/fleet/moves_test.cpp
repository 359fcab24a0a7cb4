// SPDX-License-Identifier: Apache-2.0
// Answers that move between engines of one pool, by KV and by tokens: each is what the model says
// without pages, batches or moves. A wrong byte of KV changes every token behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/examples/fleet/rig.hpp"
#include "tools/http/http_client.hpp"
#include "tools/http/sse.hpp"

namespace aqua::fleet::test {
namespace {

using router::test::ask;
using router::test::becomes;
using router::test::request_of;

const std::vector<std::string> kPace{"--iteration-ms", "10"};

// Requests that move back and forth after each `every` tokens, until four moves have been done: how
// many an answer has time for is the machine's.
void expect_right_when_moved(const RouterProcess& router, const std::string& kind,
                             std::size_t every) {
  constexpr std::uint32_t kTokens = 400;
  const auto prompt = prompt_of(3);
  const Answer expected = reference_answer(prompt, 3, kTokens);
  for (int asked = 0; asked < 10 && moves_done(router, kind) < 4; ++asked) {
    std::size_t next = every;
    const Answer answer = ask(router.url(), request_of(prompt, 3, kTokens), "/v1/completions",
                              [&](const Answer& so_far) {
                                if (so_far.ids.size() < next) return true;
                                next += every;
                                (void)move_the_only_one(router, kind == "tokens");
                                return true;
                              });
    ASSERT_EQ(answer, expected) << answer.error;
  }
  EXPECT_GE(moves_done(router, kind), 4) << router.get("/admin/v1/engines").dump();
}

TEST(FleetMoves, AnAnswerThatMovedIsTheOneThatStayed) {
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", kPace), b(keeper, "engine-b", kPace);
  const RouterProcess router({a.url(), b.url()});
  expect_right_when_moved(router, "kv", 23);
  EXPECT_EQ(moves_done(router, "tokens"), 0) << "both engines share a pool";
  EXPECT_GE(a.metric("fleet_moved_in_total") + b.metric("fleet_moved_in_total"), 4);
  expect_right_when_moved(router, "tokens", 40);
  EXPECT_TRUE(becomes([&] { return a.holds_nothing() && b.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return keeper.holds_nothing(); }));
}

TEST(FleetMoves, BetweenPoolsTokensMove) {
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", kPace);
  const FleetEngine b(keeper, "engine-b", {"--iteration-ms", "10", "--pool", "other"});
  const RouterProcess router({a.url(), b.url()});
  const auto prompt = prompt_of(5);
  const Answer answer = ask_and_move(router, prompt, 5, 200);
  EXPECT_EQ(answer, reference_answer(prompt, 5, 200));
  EXPECT_EQ(moves_done(router, "tokens"), 1);
  EXPECT_EQ(moves_done(router, "kv"), 0);
}

// The prompt takes more than a quarter of b's blocks, which is all that b keeps of several prompts
// computed ahead. A single one is kept however long it is.
void expect_computed_once(const FleetEngine& a, const FleetEngine& b) {
  const RouterProcess router({a.url(), b.url()});
  const auto prompt = router::test::some_prompt(6, 400);
  bool moved = false;
  const Answer answer =
      ask(router.url(), request_of(prompt, 6, 150), "/v1/completions", [&](const Answer& so_far) {
        if (so_far.ids.size() < 20 || std::exchange(moved, true)) return true;
        EXPECT_EQ(router.engine("a").at("requests"), 1);
        EXPECT_TRUE(move_the_only_one(router, true));
        return true;
      });
  EXPECT_EQ(answer, reference_answer(prompt, 6, 150)) << answer.error;
  EXPECT_EQ(moves_done(router, "tokens"), 1);
  EXPECT_GE(b.metric("fleet_prefilled_tokens_total"), 400);
  EXPECT_LT(b.metric("fleet_prefilled_tokens_total"), 600);
}

const std::vector<std::string> kSmall{"--iteration-ms", "10", "--blocks", "64"};

TEST(FleetMoves, WhatIsComputedAheadOfAMoveIsComputedOnceHoweverLong) {
  const Keeper keeper;
  expect_computed_once(FleetEngine(keeper, "engine-a", kPace),
                       FleetEngine(keeper, "engine-b", kSmall));
}

// Their attempts have no names, since by KV they move nothing.
TEST(FleetMoves, WhatIsComputedAheadOfAMoveIsComputedOnceByEnginesWithoutAPoolToo) {
  expect_computed_once(FleetEngine("engine-a", kPace), FleetEngine("engine-b", kSmall));
}

TEST(FleetMoves, ADrainedEngineHandsItsRequestsOver) {
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", kPace), b(keeper, "engine-b", kPace);
  const RouterProcess router({a.url(), b.url()});
  Clients clients(router.url(), 6, 200);
  EXPECT_TRUE(becomes([&] { return router.engine("a").at("requests") > 3; }));
  EXPECT_EQ(router.order("/admin/v1/engines/a/drain"), 200);
  EXPECT_TRUE(becomes([&] { return router.engine("a").at("requests") == 0; }));
  EXPECT_GE(moves_done(router, "kv"), 1);
  clients.expect_all_right();
  EXPECT_TRUE(becomes([&] { return a.holds_nothing() && b.holds_nothing(); }));
}

TEST(FleetMoves, ADestinationWithoutRoomLeavesTheRequestWhereItIs) {
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", kPace);
  const FleetEngine b(keeper, "engine-b", {"--iteration-ms", "10", "--blocks", "4"});
  const RouterProcess router({a.url(), b.url()});
  const auto prompt = prompt_of(1);
  bool moved = false;
  const Answer answer =
      ask(router.url(), request_of(prompt, 1, 150), "/v1/completions", [&](const Answer& so_far) {
        if (so_far.ids.size() < 20 || std::exchange(moved, true)) return true;
        EXPECT_EQ(router.engine("a").at("requests"), 1);
        EXPECT_TRUE(move_the_only_one(router));
        return true;
      });
  EXPECT_EQ(answer, reference_answer(prompt, 1, 150)) << answer.error;
  EXPECT_EQ(moves_done(router, "kv"), 0);
  EXPECT_EQ(router.metric("aqua_router_moves_total", "failed"), 1);
  EXPECT_EQ(router.metric("aqua_router_recoveries_total"), 0);
}

TEST(FleetEngineAlone, TellsAWholeAnswerAtOnce) {
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", {"--iteration-ms", "2"});
  const auto prompt = prompt_of(4);
  Json body = request_of(prompt, 4, 100);
  body["stream"] = false;
  EXPECT_EQ(ask(a.url(), body), reference_answer(prompt, 4, 100));
  body["max_tokens"] = 100'000'000;
  const Answer refused = ask(a.url(), body);
  EXPECT_EQ(refused.status, 400) << "before its first token";
}

// An answer that fits into the pool outgrows what is left beside a long warm-up whose heir never
// comes.
TEST(FleetEngineAlone, KeepsWhatIsComputedAheadForAsLongAsNobodyWantsItsRoom) {
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", {"--iteration-ms", "2", "--blocks", "64"});
  const auto prompt = prompt_of(4);
  Json ahead = request_of(router::test::some_prompt(6, 500), 6, 1);
  ahead["aqua"] = {{"request", "r"}, {"turn", 1}};
  bool asked = false;
  const Answer answer =
      ask(a.url(), request_of(prompt, 4, 700), "/v1/completions", [&](const Answer& so_far) {
        if (so_far.ids.size() < 20 || std::exchange(asked, true)) return true;
        EXPECT_EQ(ask(a.url(), ahead).ids.size(), 1U);
        EXPECT_TRUE(becomes([&] { return a.metric("fleet_blocks_kept") > 30; }));
        return true;
      });
  EXPECT_EQ(answer, reference_answer(prompt, 4, 700)) << answer.error;
  EXPECT_EQ(a.metric("fleet_blocks_kept"), 0);
}

// Each fits beside it, but not all of them.
TEST(FleetEngineAlone, GivesUpALongPrefixBeforeAnAnswerWaitsForItsRoom) {
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", {"--iteration-ms", "2", "--blocks", "64"});
  Json ahead = request_of(router::test::some_prompt(6, 500), 6, 1);
  ahead["aqua"] = {{"request", "r"}, {"turn", 1}};
  EXPECT_EQ(ask(a.url(), ahead).ids.size(), 1U);
  ASSERT_TRUE(becomes([&] { return a.metric("fleet_blocks_kept") > 30; }));
  Clients clients(a.url(), 3, 300);
  EXPECT_TRUE(becomes([&] { return a.metric("fleet_blocks_kept") == 0; }));
  clients.expect_all_right();
}

// As a stream does, by the end of its connection.
TEST(FleetEngineAlone, EndsAWholeAnswerWhoseClientHasGone) {
  constexpr int kTokens = 1500;
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", {"--iteration-ms", "10"});
  http::HttpClient client(http::parse_url(a.url()).value(), {});
  Json body = request_of(prompt_of(4), 4, kTokens);
  body["stream"] = false;
  auto reply = std::async(std::launch::async, [&] {
    return client.post("/v1/completions", body.dump(),
                       [](std::string_view, auto) { return http::Heard::something; });
  });
  EXPECT_TRUE(becomes([&] { return a.metric("fleet_iterations_total") > 20; }));
  EXPECT_EQ(a.metric("aqua_engine_sequences"), 1) << "what its scheduler says is told";
  client.stop();
  EXPECT_FALSE(reply.get().ok());
  EXPECT_TRUE(becomes([&] { return a.metric("fleet_requests") == 0; }));
  EXPECT_LT(a.metric("fleet_iterations_total"), kTokens) << "it did not tell all of it first";
}

// The engine alone is asked here, and ordered as a router that is wrong might.
TEST(FleetMoves, AnAnswerWithMoreIdsThanANoteCarriesStays) {
  constexpr std::uint32_t kTokens = 1400;
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", {"--iteration-ms", "2"});
  const http::EngineUrl url = http::parse_url(a.url()).value();
  http::HttpClient answers(url, {}), orders(url, {});
  const auto prompt = prompt_of(4);
  Json body = request_of(prompt, 4, kTokens);
  body["aqua"] = {{"request", "r"}, {"turn", 1}};
  http::SseReader reader;
  std::vector<std::uint32_t> ids;
  std::string told, reason;
  bool ordered = false;
  const auto nothing = [](std::string_view, auto) { return http::Heard::something; };
  const auto hear = [&](std::string_view data) {
    if (data == "[DONE]") return;
    const Json event = Json::parse(data);
    if (!event.contains("choices")) {
      told = event.at("aqua").at("event");
      reason = event.at("aqua").at("reason");
      return;
    }
    ids.push_back(event.at("choices").at(0).at("token_ids").at(0));
    if (ids.size() < 1100 || std::exchange(ordered, true)) return;
    const auto reply = orders.post("/aqua/v1/orders",
                                   R"({"order":"move","request":"r","turn":1,"to":"nobody",)"
                                   R"("move":2,"answered":0,"room_tokens":1000000})",
                                   nothing);
    EXPECT_TRUE(reply.ok() && reply->status == 200);
  };
  const auto reply =
      answers.post("/v1/completions", body.dump(), [&](std::string_view bytes, auto) {
        EXPECT_TRUE(reader.feed(bytes, hear).ok());
        return http::Heard::something;
      });
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(told, "reported");
  EXPECT_EQ(reason, "outgrown");
  EXPECT_EQ(ids, reference_answer(prompt, 4, kTokens).ids);
}

// Orders may come in another order than they were sent in, where one was not answered in time.
TEST(FleetMoves, AnOrderThatComesBehindTheEndOfItsMoveIsVoid) {
  constexpr std::uint32_t kTokens = 300;
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", {"--iteration-ms", "2"});
  const http::EngineUrl url = http::parse_url(a.url()).value();
  http::HttpClient answers(url, {}), orders(url, {});
  const auto prompt = prompt_of(6);
  Json body = request_of(prompt, 6, kTokens);
  body["aqua"] = {{"request", "r"}, {"turn", 1}};
  const auto nothing = [](std::string_view, auto) { return http::Heard::something; };
  const auto order = [&](Json more) {
    more.update({{"request", "r"}, {"turn", 1}});
    const auto reply = orders.post("/aqua/v1/orders", more.dump(), nothing);
    return reply.ok() ? reply->status : 0;
  };
  http::SseReader reader;
  std::vector<std::uint32_t> ids;
  std::vector<std::string> told;
  const auto hear = [&](std::string_view data) {
    if (data == "[DONE]") return;
    const Json event = Json::parse(data);
    if (!event.contains("choices")) return told.push_back(event.at("aqua").at("event"));
    ids.push_back(event.at("choices").at(0).at("token_ids").at(0));
    if (ids.size() != 20) return;
    EXPECT_EQ(order({{"order", "resume"}, {"move", 7}}), 200);
    EXPECT_EQ(order({{"order", "move"},
                     {"to", "nobody"},
                     {"move", 7},
                     {"answered", 0},
                     {"room_tokens", 1000}}),
              200);
  };
  const auto reply =
      answers.post("/v1/completions", body.dump(), [&](std::string_view bytes, auto) {
        EXPECT_TRUE(reader.feed(bytes, hear).ok());
        return http::Heard::something;
      });
  EXPECT_TRUE(reply.ok());
  EXPECT_EQ(ids, reference_answer(prompt, 6, kTokens).ids) << "it was held for nobody";
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(keeper.holds_nothing());
}

TEST(FleetMoves, OfSixtyFourAnswersOnFourEnginesNoTokenIsLostOrDoubled) {
  const Keeper keeper;
  std::deque<FleetEngine> engines;
  std::vector<std::string> urls;
  for (const char* name : {"a", "b", "c", "d"}) {
    engines.emplace_back(keeper, name, std::vector<std::string>{"--iteration-ms", "25"});
    urls.push_back(engines.back().url());
  }
  const RouterProcess router(urls);
  std::mt19937 random(1);
  Clients clients(router.url(), 64, 200);
  EXPECT_TRUE(becomes([&] { return router.metric("aqua_router_requests") >= 64; }));
  EXPECT_TRUE(becomes([&] {
    move_around(router, random, engines.size(), false);
    return moves_done(router, "kv") >= 100;
  })) << router.metric("aqua_router_moves_total", "failed");
  EXPECT_TRUE(becomes([&] {
    move_around(router, random, engines.size(), true);
    return moves_done(router, "tokens") >= 100;
  }));
  clients.expect_all_right();
  for (const FleetEngine& engine : engines)
    EXPECT_TRUE(becomes([&] { return engine.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return keeper.holds_nothing(); })) << "nothing leaks";
}

TEST(FleetMoves, AClientThatVanishesInAMoveLeavesNothing) {
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", kPace), b(keeper, "engine-b", kPace);
  const RouterProcess router({a.url(), b.url()});
  for (std::uint32_t more = 0; more < 4; ++more) {
    std::size_t end = SIZE_MAX;
    (void)ask(router.url(), request_of(prompt_of(2), 2, 5000), "/v1/completions",
              [&](const Answer& so_far) {
                if (so_far.ids.size() == 20) {
                  EXPECT_TRUE(move_the_only_one(router));
                  end = so_far.ids.size() + more;
                }
                return so_far.ids.size() < end;
              });
    EXPECT_TRUE(becomes([&] { return a.holds_nothing() && b.holds_nothing(); })) << more;
    EXPECT_TRUE(becomes([&] { return keeper.holds_nothing(); })) << more;
  }
}

}  // namespace
}  // namespace aqua::fleet::test
