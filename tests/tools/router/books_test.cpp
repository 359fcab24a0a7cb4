// SPDX-License-Identifier: Apache-2.0
// The fleet, its packer and a request's conversation each know where the request is. They agree,
// also where engines go down between what one of them does and what it tells the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tests/tools/router/fleet_orders.hpp"
#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"
#include "tools/router/flow/conversation.hpp"

namespace aqua::router::test {
namespace {

struct Guest {
  packing::RequestId id{};
  std::shared_ptr<Mailbox> mail = std::make_shared<Mailbox>(100);
};

// Engines of 1008 tokens, and a plan of two moves: r2 from a to b, and once that is over r3 from c
// to a, which has no room for it before. No plan comes but by what an engine or an operator does.
class StagedMoves : public ::testing::Test {
 protected:
  StagedMoves() {
    std::vector<EngineEndpoint> endpoints;
    for (const char* name : {"spare", "a", "b", "c"}) {
      auto& engine = engines_[name] = std::make_unique<ScriptedEngine>();
      engine->be({.blocks = "63"});
      endpoints.push_back(at_url(name, engine->url()));
    }
    FleetOptions options;
    options.health = std::chrono::milliseconds(20);
    options.epoch = std::chrono::hours(1);
    fleet_ = Fleet::open(options, std::move(endpoints)).value();
    await_up(*fleet_);
    leave_the_spare();
    const Guest r1 = arrive("r1", 500, "a");
    r2_ = arrive("r2", 430, "a");
    arrive("r4", 480, "b");
    const Guest filler = arrive("filler", 400, "b");  // so that r3 goes to c
    r3_ = arrive("r3", 300, "c");
    fleet_->leave(filler.id);
    r1.mail->held_tokens = 540;
    r2_.mail->held_tokens = 448;  // which is too much for a
    EXPECT_TRUE(fleet_->resume("spare").ok());
    const auto ordered = await(*r2_.mail, OrderKind::move);
    EXPECT_TRUE(ordered && ordered->engine->name == "b");
    first_move_ = ordered.value_or(FleetOrder{});
  }

  Guest arrive(const std::string& name, std::uint64_t tokens, const std::string& engine) {
    Guest guest;
    guest.id = fleet_->arrive({.name = name, .tokens = tokens, .mail = guest.mail}).value();
    const auto placed = await(*guest.mail, OrderKind::place);
    EXPECT_TRUE(placed && placed->engine->name == engine) << name;
    return guest;
  }
  // Its drain is the last cause of a plan until it is resumed.
  void leave_the_spare() {
    const Guest first = arrive("first", 10, "spare");
    EXPECT_TRUE(fleet_->drain("spare").ok());
    EXPECT_TRUE(await(*first.mail, OrderKind::move));
    fleet_->leave(first.id);
  }
  // Returns once the plan that follows it has been made.
  void kill(const std::string& engine) {
    const std::uint64_t before = fleet_->counts().plans;
    engines_.at(engine).reset();
    EXPECT_TRUE(becomes([&] { return fleet_->counts().plans > before; }));
  }
  // The first move is done, so that the second might begin. No order to move may follow.
  void expect_no_second_move(const std::string& where) {
    fleet_->move_over(first_move_, migration::Kind::tokens, MoveEnd::done);
    for (const Mail& one : r3_.mail->take(std::chrono::steady_clock::now())) {
      const auto* order = std::get_if<FleetOrder>(&one);
      EXPECT_FALSE(order != nullptr && order->kind == OrderKind::move);
    }
    const auto requests = fleet_->requests();
    const auto r3 = std::ranges::find(requests, "r3", &RequestView::name);
    ASSERT_NE(r3, requests.end());
    EXPECT_EQ(r3->engine, where);
    EXPECT_EQ(r3->moves_to, "");
  }

  std::map<std::string, std::unique_ptr<ScriptedEngine>> engines_;
  std::unique_ptr<Fleet> fleet_;
  Guest r2_, r3_;
  FleetOrder first_move_{};
};

TEST_F(StagedMoves, AMoveWhoseSourceHasDiedIsNotBegunFromWhereItsRequestIsNow) {
  kill("c");
  expect_no_second_move("spare");
}

TEST_F(StagedMoves, AMoveOfARequestThatAnOperatorHasMovedAndThatBeganAnewIsNotBegun) {
  ASSERT_TRUE(fleet_->move("r3", "spare").ok());
  const auto by_operator = await(*r3_.mail, OrderKind::move);
  ASSERT_TRUE(by_operator);
  fleet_->move_over(*by_operator, migration::Kind::tokens, MoveEnd::done);
  kill("spare");
  expect_no_second_move("c");
}

// The fleet looks for a place where an engine goes down just as a move from it or to it is done,
// and the answer goes on all the same. Here it is told of the end of a move that it did not order.
TEST(Books, AnAnswerThatIsGivenAPlaceWhileItGoesOnIsWhereItGoesOn) {
  constexpr std::size_t kBeforePlace = 20;  // tokens
  std::atomic<bool> goes_on{false};
  ScriptedEngine a, b;
  a.be({.blocks = "2"});  // too small for it by then, so that the place is on b
  for (ScriptedEngine* engine : {&a, &b}) {
    engine->script({}, [&, engine](std::uint32_t token) -> std::string {
      // One more, so that the answer is not over when it is looked for.
      if (token < kBeforePlace + (goes_on ? 1 : 0)) return "";
      return engine->over(std::chrono::milliseconds(20)) ? "cut" : ": busy\n\n";
    });
  }
  FleetOptions options;
  options.epoch = std::chrono::hours(1);
  const auto fleet = Fleet::open(options, {at_url("a", a.url()), at_url("b", b.url())}).value();
  await_up(*fleet);
  Counters counters;
  const std::string body = request_of(some_prompt(1, 9), 1, 40).dump();
  Conversation conversation(*fleet, counters, {}, parse_asked(Api::completions, body).value(), body,
                            "cmpl-1");
  const auto alive = [] { return true; };
  ASSERT_TRUE(conversation.begin(alive).ok());
  for (std::size_t said = 0; said < kBeforePlace;) {
    for (const auto& words : conversation.next(alive).value()) said += words.ids.size();
  }
  ASSERT_EQ(fleet->requests().front().engine, "a");
  fleet->move_over({.request = packing::RequestId{1}}, migration::Kind::tokens, MoveEnd::done);
  ASSERT_EQ(fleet->requests().front().engine, "b");
  goes_on = true;
  EXPECT_FALSE(conversation.next(alive).value().empty());
  EXPECT_EQ(fleet->requests().front().engine, "a");
  EXPECT_EQ(b.asked, 0);
}

// Else the request would wait for the silence of an engine that is known to be down.
TEST(Books, AnAnswerThatGoesOnAtAnEngineThatIsDownIsCutAndGetsAnotherPlace) {
  const ScriptedEngine a;
  auto b = std::make_unique<ScriptedEngine>();
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a.url()), at_url("b", b->url())}).value();
  await_up(*fleet);
  Guest guest;
  guest.id = fleet->arrive({.name = "r", .tokens = 10, .mail = guest.mail}).value();
  b.reset();
  ASSERT_TRUE(becomes([&] { return fleet->engines().at(1).state == "down"; }));
  fleet->goes_on_at(guest.id, "b");
  EXPECT_TRUE(await(*guest.mail, OrderKind::drop));
  EXPECT_EQ(fleet->requests().front().engine, "a");
  fleet->leave(guest.id);
}

// The end of the first may be told only once the next plan has ordered another move.
TEST(Books, AMoveWhoseDestinationHasDiedLeavesTheNextOneAlone) {
  std::map<std::string, std::unique_ptr<ScriptedEngine>> engines;
  std::vector<EngineEndpoint> endpoints;
  for (const char* name : {"a", "b", "c"}) {
    auto& engine = engines[name] = std::make_unique<ScriptedEngine>();
    endpoints.push_back(at_url(name, engine->url()));
  }
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  options.epoch = std::chrono::hours(1);
  const auto fleet = Fleet::open(options, std::move(endpoints)).value();
  await_up(*fleet);
  for (const char* name : {"b", "c"}) ASSERT_TRUE(fleet->drain(name).ok());
  Guest guest;
  guest.id = fleet->arrive({.name = "r", .tokens = 10, .mail = guest.mail}).value();
  ASSERT_TRUE(await(*guest.mail, OrderKind::place));
  ASSERT_TRUE(fleet->resume("b").ok());
  ASSERT_TRUE(fleet->drain("a").ok());
  const auto first = await(*guest.mail, OrderKind::move);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->engine->name, "b");
  ASSERT_TRUE(fleet->resume("c").ok());
  engines.at("b").reset();
  const auto second = await(*guest.mail, OrderKind::move);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->engine->name, "c");
  fleet->move_over(*first, migration::Kind::tokens, MoveEnd::died, "engine b is gone");
  EXPECT_EQ(fleet->requests().front().moves_to, "c");
  fleet->move_over(*second, migration::Kind::tokens, MoveEnd::done);
  const RequestView now = fleet->requests().front();
  EXPECT_EQ(now.engine, "c");
  EXPECT_FALSE(now.by_operator);
  for (const Mail& one : guest.mail->take(std::chrono::steady_clock::now())) {
    const auto* order = std::get_if<FleetOrder>(&one);
    EXPECT_FALSE(order != nullptr && order->kind == OrderKind::place) << "it has its place";
  }
  fleet->leave(guest.id);
}

// Else the answer that grows gives way to the one that was refused.
TEST(Books, AnEngineThatRestsKeepsAnswersThatGrow) {
  ScriptedEngine a;
  a.be({.blocks = "63"});
  FleetOptions options;
  options.epoch = std::chrono::milliseconds(20);
  options.shy = std::chrono::hours(1);
  const auto fleet = Fleet::open(options, {at_url("a", a.url())}).value();
  await_up(*fleet);
  Guest r1, r2;
  r1.id = fleet->arrive({.name = "r1", .tokens = 208, .mail = r1.mail}).value();
  r2.id = fleet->arrive({.name = "r2", .tokens = 112, .mail = r2.mail}).value();
  for (Guest* guest : {&r1, &r2}) ASSERT_TRUE(await(*guest->mail, OrderKind::place));
  r2.id = fleet->again(r2.id, "a", FaultKind::refused, "it has no room");
  r1.mail->held_tokens = 240;
  const std::uint64_t before = fleet->counts().plans;
  ASSERT_TRUE(becomes([&] { return fleet->counts().plans > before + 1; }));
  for (const Guest* guest : {&r1, &r2}) {
    for (const Mail& one : guest->mail->take(std::chrono::steady_clock::now()))
      EXPECT_FALSE(std::holds_alternative<FleetOrder>(one));
  }
  EXPECT_EQ(fleet->counts().waiting, 1U);
  for (const Guest* guest : {&r1, &r2}) fleet->leave(guest->id);
}

// Answers that cannot move: their engine has 1008 tokens, and the packer does not know them.
class Stays : public ::testing::Test {
 protected:
  Stays() {
    for (ScriptedEngine* engine : {&a_, &b_}) engine->be({.blocks = "63"});
    FleetOptions options;
    options.epoch = std::chrono::milliseconds(20);
    fleet_ = Fleet::open(options, {at_url("a", a_.url()), at_url("b", b_.url())}).value();
    await_up(*fleet_);
    EXPECT_TRUE(fleet_->drain("b").ok());
  }
  Guest arrive(std::uint64_t tokens, const std::string& stays = {}) {
    Guest guest;
    guest.id =
        fleet_->arrive({.name = "r", .stays = stays, .tokens = tokens, .mail = guest.mail}).value();
    EXPECT_TRUE(await(*guest.mail, OrderKind::place));
    return guest;
  }

  ScriptedEngine a_, b_;
  std::unique_ptr<Fleet> fleet_;
};

TEST_F(Stays, AnAnswerThatCannotMoveIsNotDroppedThoughItCameLast) {
  const Guest first = arrive(300), second = arrive(150), last = arrive(440, "tools");
  EXPECT_FALSE(fleet_->requests().back().by_operator);
  first.mail->held_tokens = 500;
  EXPECT_TRUE(await(*second.mail, OrderKind::drop));
  for (const Mail& one : last.mail->take(std::chrono::steady_clock::now()))
    EXPECT_FALSE(std::holds_alternative<FleetOrder>(one));
}

TEST_F(Stays, AnotherOneMovesWhereTheFirstChoiceCannot) {
  const Guest smaller = arrive(300, "tools"), larger = arrive(600);
  ASSERT_TRUE(fleet_->resume("b").ok());
  larger.mail->held_tokens = 700;
  EXPECT_TRUE(await(*larger.mail, OrderKind::move));
}

TEST_F(Stays, AnAnswerThatHasLostItsIdsIsLeftWhereItIs) {
  const Guest smaller = arrive(300), larger = arrive(600);
  fleet_->stays(smaller.id, "its tokens were not all told");
  ASSERT_TRUE(fleet_->resume("b").ok());
  larger.mail->held_tokens = 700;
  EXPECT_TRUE(await(*larger.mail, OrderKind::move));
}

TEST_F(Stays, ARequestThatHasNoRoomBesideThemWaits) {
  const Guest one = arrive(600, "tools");
  Guest large;
  const auto id = fleet_->arrive({.name = "large", .tokens = 700, .mail = large.mail});
  ASSERT_TRUE(id.ok()) << id.error().message;
  fleet_->leave(one.id);
  EXPECT_TRUE(await(*large.mail, OrderKind::place));
}

TEST_F(Stays, TheirEngineIsNotUsedAgainWhileItHoldsThem) {
  const Guest one = arrive(300, "tools");
  EXPECT_EQ(fleet_->engines().at(0).held_tokens, 300U);
  ASSERT_TRUE(fleet_->drain("a").ok());
  EXPECT_EQ(fleet_->resume("a").error().code, Code::failed_precondition);
  fleet_->leave(one.id);
  EXPECT_TRUE(fleet_->resume("a").ok());
}

}  // namespace
}  // namespace aqua::router::test
