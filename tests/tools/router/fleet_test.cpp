// SPDX-License-Identifier: Apache-2.0
// What the fleet orders where engines go down while moves to them end.
#include "tools/router/fleet/fleet.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <memory>

#include "tests/tools/router/fleet_orders.hpp"
#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"
#include "tools/router/observe/metrics.hpp"
#include "tools/router/serve/admin.hpp"

namespace aqua::router::test {
namespace {

// The request "r", which has begun on engine a; both it and b are up, and may be used.
packing::RequestId begun_on_a(Fleet& fleet, const std::shared_ptr<Mailbox>& mail) {
  await_up(fleet);
  EXPECT_TRUE(fleet.drain("b").ok());
  const auto id = fleet.arrive({.name = "r", .tokens = 10, .mail = mail}).value();
  const auto begun = await(*mail, OrderKind::place);
  EXPECT_TRUE(begun && begun->engine && begun->engine->name == "a");
  EXPECT_TRUE(fleet.resume("b").ok());
  return id;
}

// An operator's order to move "r".
FleetOrder order_move(Fleet& fleet, Mailbox& mail, const std::string& engine) {
  EXPECT_TRUE(fleet.move("r", engine).ok());
  const auto ordered = await(mail, OrderKind::move);
  EXPECT_TRUE(ordered);
  return ordered.value_or(FleetOrder{});
}

// The heir's first token and its engine's end may reach a request's mailbox in this order, the
// fleet in the other.
TEST(Fleet, AMoveThatWasDoneWhenItsDestinationWentDownGetsAnotherPlace) {
  const ScriptedEngine a;
  auto b = std::make_unique<ScriptedEngine>();
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a.url()), at_url("b", b->url())}).value();
  auto mail = std::make_shared<Mailbox>(100);
  const auto id = begun_on_a(*fleet, mail);
  const FleetOrder ordered = order_move(*fleet, *mail, "b");
  b.reset();
  ASSERT_TRUE(await(*mail, OrderKind::gone));
  fleet->move_over(ordered, migration::Kind::tokens, MoveEnd::done);
  const auto again = await(*mail, OrderKind::place);
  ASSERT_TRUE(again) << "else it waits for ever";
  EXPECT_EQ(again->request, id);
  EXPECT_EQ(again->engine->name, "a");
  EXPECT_EQ(fleet->counts().waiting, 0u);
  fleet->leave(id);
}

// A destination that has the KV of a request whose source has died: the packer may have found it
// another place by then.
TEST(Fleet, ARequestThatGoesOnWhereItsKvIsIsLeftThere) {
  auto a = std::make_unique<ScriptedEngine>();
  const ScriptedEngine b;
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a->url()), at_url("b", b.url())}).value();
  auto mail = std::make_shared<Mailbox>(100);
  const auto id = begun_on_a(*fleet, mail);
  const FleetOrder ordered = order_move(*fleet, *mail, "b");
  a.reset();
  ASSERT_TRUE(await(*mail, OrderKind::gone));
  fleet->move_over(ordered, migration::Kind::kv, MoveEnd::died);
  fleet->goes_on_at(id, "b");
  const auto requests = fleet->requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests.front().engine, "b");
  EXPECT_TRUE(requests.front().by_operator);
  EXPECT_EQ(fleet->counts().recoveries, 1U);
  EXPECT_EQ(fleet->counts().waiting, 0U);
  EXPECT_EQ(fleet->counts().moves.failed(migration::Kind::kv), 1U);
  fleet->leave(id);
  EXPECT_TRUE(fleet->requests().empty());
}

// The packer would fill the engine that others are on already, were it still thought to be up.
TEST(Fleet, ARequestThatAnOperatorMovedLeavesAnEngineThatIsSilent) {
  const ScriptedEngine a;
  ScriptedEngine b;
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  options.misses = 1;
  const auto fleet = Fleet::open(options, {at_url("a", a.url()), at_url("b", b.url())}).value();
  auto mail = std::make_shared<Mailbox>(100), others = std::make_shared<Mailbox>(100);
  const auto id = begun_on_a(*fleet, mail);
  const FleetOrder ordered = order_move(*fleet, *mail, "b");
  fleet->move_over(ordered, migration::Kind::tokens, MoveEnd::done);
  ASSERT_TRUE(fleet->drain("a").ok());
  const auto other = fleet->arrive({.name = "other", .tokens = 10, .mail = others}).value();
  ASSERT_TRUE(await(*others, OrderKind::place));
  ASSERT_TRUE(fleet->resume("a").ok());
  b.stall_at("/health", ScriptedEngine::Stall::is_silent);
  const auto again = await(*mail, OrderKind::place);
  ASSERT_TRUE(again && again->engine);
  EXPECT_EQ(again->engine->name, "a");
  fleet->leave(id);
  fleet->leave(other);
}

// The pool's keeper may be dead, and every further move by KV would fail.
TEST(Fleet, APlanMovesARequestByTokensAfterItsMoveByKvHasFailedForGood) {
  ScriptedEngine a, b;
  a.be({.pool = R"({"pool":"p","role":"a"})"});
  b.be({.pool = R"({"pool":"p","role":"b"})"});
  FleetOptions options;
  options.health = options.epoch = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a.url()), at_url("b", b.url())}).value();
  auto mail = std::make_shared<Mailbox>(100);
  const auto id = begun_on_a(*fleet, mail);
  ASSERT_TRUE(fleet->drain("a").ok());
  const auto by_kv = await(*mail, OrderKind::move);
  ASSERT_TRUE(by_kv);
  EXPECT_FALSE(by_kv->by_tokens);
  FleetOrder waits = *by_kv;
  for (int times = 0; times < 3; ++times) {
    fleet->move_over(waits, migration::Kind::kv, MoveEnd::not_yet, "it did not begin", false);
    const auto later = await(*mail, OrderKind::move);
    ASSERT_TRUE(later);
    EXPECT_FALSE(later->by_tokens) << "that it did not begin says nothing";
    waits = *later;
  }
  EXPECT_TRUE(fleet->last_moves().empty()) << "nothing has moved";
  EXPECT_EQ(fleet->counts().moves.failed(migration::Kind::kv), 0U);
  EXPECT_EQ(fleet->requests().front().move_failed, "it did not begin");
  fleet->move_over(waits, migration::Kind::kv, MoveEnd::not_yet);
  const auto soon = await(*mail, OrderKind::move);
  ASSERT_TRUE(soon);
  EXPECT_FALSE(soon->by_tokens) << "what passes is tried again";
  EXPECT_EQ(fleet->requests().front().failed_as, "not_yet");
  EXPECT_EQ(fleet->counts().moves.failed(migration::Kind::kv), 1U);
  fleet->move_over(*soon, migration::Kind::kv, MoveEnd::no_pool, "the keeper is away");
  const auto again = await(*mail, OrderKind::move);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->by_tokens);
  fleet->move_over(*again, migration::Kind::tokens, MoveEnd::done);
  ASSERT_TRUE(fleet->resume("a").ok());
  ASSERT_TRUE(fleet->drain("b").ok());
  const auto back = await(*mail, OrderKind::move);
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->by_tokens);
  fleet->leave(id);
}

// Its keeper dies, and another one is there later; the engine itself is up all the time.
TEST(Fleet, ThatAnEnginesPoolIsAwayOrBackIsHeardWithItsHealth) {
  ScriptedEngine a, b;
  a.be({.pool = R"({"pool":"p","role":"a"})"});
  b.be({.pool = R"({"pool":"p","role":"b"})"});
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a.url()), at_url("b", b.url())}).value();
  auto mail = std::make_shared<Mailbox>(100);
  const auto id = begun_on_a(*fleet, mail);
  b.be({.pool = R"({"pool":"p","role":"b","away":true})"});
  ASSERT_TRUE(becomes([&] { return fleet->engines().at(1).pool_away; }));
  EXPECT_EQ(fleet->engines().at(1).state, "up");
  const FleetOrder without = order_move(*fleet, *mail, "b");
  EXPECT_TRUE(without.by_tokens);
  fleet->move_over(without, migration::Kind::tokens, MoveEnd::done);
  b.be({.pool = R"({"pool":"p","role":"b"})"});
  ASSERT_TRUE(becomes([&] { return !fleet->engines().at(1).pool_away; }));
  const FleetOrder back = order_move(*fleet, *mail, "a");
  EXPECT_FALSE(back.by_tokens);
  fleet->leave(id);
}

// It is the router that cannot ask. One check has begun before that, and is not answered.
TEST(Fleet, AnEngineIsNotDownBecauseTheRouterHasNoDescriptorLeft) {
  ScriptedEngine a;
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a.url())}).value();
  await_up(*fleet);
  a.stall_at("/health", ScriptedEngine::Stall::is_silent);
  ASSERT_TRUE(becomes([&] { return a.stalled == 1; }));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EngineView seen;
  const bool said = becomes([&] {
    seen = fleet->engines().at(0);
    return seen.fault.starts_with("this machine, not the engine");
  });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(said) << seen.fault;
  EXPECT_EQ(seen.state, "up");
}

// It may be of a pool that it does not tell of just then.
TEST(Fleet, AnEngineIsUpOnceItHasSaidWhetherItIsOfAPool) {
  ScriptedEngine a;
  a.be({.pool_status = 503});
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a.url())}).value();
  const auto engine = [&] { return fleet->engines().at(0); };
  ASSERT_TRUE(becomes([&] { return engine().fault.starts_with("/aqua/v1/pool answers 503"); }));
  EXPECT_EQ(engine().state, "down");
  a.be({.pool = R"({"pool":"p","role":"a"})"});
  ASSERT_TRUE(becomes([&] { return engine().state == "up"; }));
  EXPECT_EQ(engine().pool, "p");
}

// What it says of another one is another process's, or nonsense.
TEST(Fleet, AnEngineIsOfOnePoolForAsLongAsItIsUp) {
  ScriptedEngine a;
  a.be({.pool = R"({"pool":"p","role":"a"})"});
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a.url())}).value();
  await_up(*fleet);
  for (const char* other :
       {R"({"pool":"q","role":"a","away":true})", R"({"pool":"p","role":"b","away":true})"}) {
    a.be({.pool = other});
    const int told = a.pools_told;
    ASSERT_TRUE(becomes([&] { return a.pools_told > told + 2; })) << "the second is taken in";
    EXPECT_EQ(fleet->engines().at(0).pool, "p");
    EXPECT_FALSE(fleet->engines().at(0).pool_away);
  }
}

// What operators are shown of moves: the last one first, and the count of each reason.
TEST(Fleet, AMoveThatIsOverIsShownWithItsReason) {
  ScriptedEngine a, b;
  const auto fleet = Fleet::open({}, {at_url("a", a.url()), at_url("b", b.url())}).value();
  auto mail = std::make_shared<Mailbox>(100);
  const auto id = begun_on_a(*fleet, mail);
  const FleetOrder refused = order_move(*fleet, *mail, "b");
  fleet->move_over(refused, migration::Kind::kv, MoveEnd::no_room, "engine b: it has no room");
  const FleetOrder given_up = order_move(*fleet, *mail, "b");
  fleet->move_over(given_up, migration::Kind::kv, MoveEnd::ended, "not asked for");
  const auto moves = fleet->last_moves();
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_GT(moves[0].number, moves[1].number);
  EXPECT_EQ(moves[0].end, MoveEnd::ended);
  EXPECT_EQ(moves[0].why, "") << "it is no failure";
  EXPECT_EQ(moves[1].end, MoveEnd::no_room);
  EXPECT_EQ(moves[1].why, "engine b: it has no room");
  EXPECT_EQ(moves[1].from, "a");
  EXPECT_EQ(moves[1].to, "b");
  EXPECT_EQ(moves[1].cause, "operator");
  const Json shown = Json::parse(move_list(fleet->counts().moves, moves));
  EXPECT_EQ(shown.at("moves")[0].at("failed").at("no_room"), 1);
  EXPECT_EQ(shown.at("moves")[0].at("failed").at("died"), 0);
  EXPECT_EQ(shown.at("moves")[0].at("ended"), 1);
  EXPECT_EQ(shown.at("last")[1].at("end"), "no_room");
  const std::string metrics = render_metrics({}, fleet->counts(), fleet->engines());
  for (const char* line : {R"(aqua_router_moves_total{kind="kv",outcome="failed"} 1)",
                           R"(aqua_router_moves_total{kind="kv",outcome="ended"} 1)",
                           R"(aqua_router_move_failures_total{kind="kv",reason="no_room"} 1)"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line << " in\n" << metrics;
  fleet->leave(id);
}

TEST(Fleet, AMoveIsShownWithBothEnginesThoughOneHasGoneDown) {
  ScriptedEngine a;
  auto b = std::make_unique<ScriptedEngine>();
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a.url()), at_url("b", b->url())}).value();
  auto mail = std::make_shared<Mailbox>(100);
  const auto id = begun_on_a(*fleet, mail);
  const FleetOrder ordered = order_move(*fleet, *mail, "b");
  b.reset();
  ASSERT_TRUE(await(*mail, OrderKind::gone));
  fleet->move_over(ordered, migration::Kind::tokens, MoveEnd::died, "engine b is gone");
  const auto moves = fleet->last_moves();
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].from, "a");
  EXPECT_EQ(moves[0].to, "b");
  fleet->leave(id);
}

TEST(Fleet, TheLargestRequestsAreListedWhereFewAreAskedFor) {
  const std::vector<RequestView> all{{.name = "small", .tokens = 5},
                                     {.name = "large", .tokens = 70},
                                     {.name = "other", .tokens = 30}};
  const Json few = Json::parse(request_list(all, 2));
  EXPECT_EQ(few.at("total"), 3);
  ASSERT_EQ(few.at("requests").size(), 2U);
  EXPECT_EQ(few.at("requests")[0].at("name"), "large");
  EXPECT_EQ(few.at("requests")[1].at("name"), "other");
  EXPECT_EQ(Json::parse(request_list(all)).at("requests").size(), 3U);
  EXPECT_EQ(parse_most("2").value(), 2U);
  EXPECT_EQ(parse_most("").value(), std::nullopt);
  for (const char* most : {"x", "-1", "2x", "99999999999999999999"})
    EXPECT_EQ(parse_most(most).error().code, Code::invalid_argument) << most;
}

// One engine of the pool does not do it and another is of no pool: whichever can does.
TEST(Fleet, AParcelThatNobodyTakesIsSweptByAnyEngineOfItsPool) {
  ScriptedEngine a, b, alone;
  a.be({.pool = R"({"pool":"p","role":"a"})"});
  b.be({.pool = R"({"pool":"p","role":"b"})"});
  std::atomic<int> asked_a{0}, asked_alone{0};
  std::promise<nlohmann::json> swept;
  a.obey([&](const auto&) { return ++asked_a, 503; });
  b.obey([&](const auto& order) { return swept.set_value(order), 200; });
  alone.obey([&](const auto&) { return ++asked_alone, 200; });
  const auto fleet =
      Fleet::open({}, {at_url("a", a.url()), at_url("b", b.url()), at_url("alone", alone.url())})
          .value();
  await_up(*fleet);
  fleet->sweep("p", "p", "r", 4);
  const auto order = swept.get_future().get();
  EXPECT_EQ(order.at("order"), "sweep");
  EXPECT_EQ(order.at("request"), "r");
  EXPECT_EQ(order.at("turn"), 4U);
  EXPECT_TRUE(becomes([&] { return fleet->counts().sweeps == 0; }));
  EXPECT_EQ(asked_a, 1);
  EXPECT_EQ(asked_alone, 0);
}

// Both engines of a move are dead, and so is every other of the pool: the next one does it.
TEST(Fleet, ASweepWaitsForAnEngineThatCanDoIt) {
  auto a = std::make_unique<ScriptedEngine>();
  ScriptedEngine b;
  for (ScriptedEngine* engine : {a.get(), &b}) engine->be({.pool = R"({"pool":"p","role":"a"})"});
  std::atomic<bool> can{false};
  std::atomic<int> done{0};
  b.obey([&](const auto&) { return can ? (++done, 200) : 503; });
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a->url()), at_url("b", b.url())}).value();
  await_up(*fleet);
  a.reset();
  fleet->sweep("p", "p", "r", 4);
  EXPECT_TRUE(becomes([&] { return fleet->counts().sweeps == 1; }));
  can = true;
  EXPECT_TRUE(becomes([&] { return fleet->counts().sweeps == 0; }));
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace aqua::router::test
