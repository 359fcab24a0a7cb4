// SPDX-License-Identifier: Apache-2.0
// A coordinator and an engine whose books differ while their session goes on: they agree in the
// end, and neither asks the other without end.
#include <gtest/gtest.h>

#include <atomic>
#include <utility>

#include "aqua/groups.hpp"
#include "tests/base/code_of.hpp"
#include "tests/base/eventually.hpp"
#include "tests/runtime/runtime_fixture.hpp"
#include "tests/runtime/scripted_coordinator.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using test::ScriptedCoordinator;

constexpr const char* kWatch = "GET /v1/watch";
constexpr const char* kSelf = "GET /v1/clients/self";
constexpr const char* kLease = "POST /v1/leases";
constexpr const char* kReturn = "POST /v1/leases/return";
constexpr const char* kOffer = "POST /v1/offers";
constexpr const char* kScrubbed = "POST /v1/offers/scrubbed";

class SecondLook : public test::RuntimeFixture {
 protected:
  // A slab of a lender that has died, which the ledger takes to be held by the borrower.
  SecondLook() {
    wire::Held orphan;
    orphan.grant.slab = {random_id<ClientTag>(), 1};
    orphan.grant.bytes = 4_MiB;
    orphan.grant.generation = 1;
    orphan.grant.exchange = directory_ + "/x-dead";
    orphan.state = ledger::SlabState::orphaned;
    with_orphan_.held = {orphan};
    with_orphan_.last_event = 1;
  }
  std::optional<Runtime> open_borrower(const ScriptedCoordinator& coordinator) {
    return open({.device = "emu:1",
                 .coordinator = coordinator.address(),
                 .name = "borrower",
                 .host_bytes = 64_MiB,
                 .max_peer_bytes = 32_MiB});
  }

  wire::Snapshot with_orphan_;
};

// The ask is answered only when the snapshot that crosses it has been taken in: then the watch has
// gone on. Whoever asks again before the second look crosses that as well, and so for ever.
TEST_F(SecondLook, ComesBeforeTheNextAskWhenASnapshotCrossesAnAsk) {
  std::atomic<bool> returned{false};
  std::atomic<ScriptedCoordinator*> self{nullptr};
  ScriptedCoordinator coordinator(
      directory_, [&](const std::string& request) -> std::optional<ScriptedCoordinator::Reply> {
        if (request == kWatch && self.load()->asked(kWatch) == 1) {
          (void)self.load()->await(kLease, 1);
          return ScriptedCoordinator::watch(with_orphan_);
        }
        if (request == kLease) (void)self.load()->await(kWatch, 2);
        if (request == kReturn) returned = true;
        if (request == kSelf) {
          return ScriptedCoordinator::self(returned ? wire::Snapshot{} : with_orphan_);
        }
        return std::nullopt;
      });
  self = &coordinator;
  const auto borrower = open_borrower(coordinator);
  constexpr int kEndless = 50;
  await([&] { return returned || coordinator.asked(kLease) >= kEndless; });
  EXPECT_TRUE(returned) << "the orphan is never given back";
  EXPECT_LE(coordinator.asked(kLease), 2) << "one may follow the look";
  EXPECT_EQ(coordinator.asked(kSelf), 1);
}

// It is granted when every snapshot that looked for it has been taken. To be given back it must
// have become known.
TEST_F(SecondLook, GrantThatComesAfterTheSnapshotIsFoundByAskingAgain) {
  std::atomic<ScriptedCoordinator*> self{nullptr};
  ScriptedCoordinator coordinator(
      directory_, [&](const std::string& request) -> std::optional<ScriptedCoordinator::Reply> {
        if (request == kWatch && self.load()->asked(kWatch) == 2)
          return ScriptedCoordinator::watch({});
        if (request != kLease) return std::nullopt;
        if (self.load()->asked(kLease) <= 2)
          return ScriptedCoordinator::Reply{ScriptedCoordinator::kNoAnswer, {}};
        if (self.load()->asked_anew(kLease) == 1)
          return ScriptedCoordinator::lease({with_orphan_.held.front().grant});
        return std::nullopt;
      });
  self = &coordinator;
  const auto borrower = open_borrower(coordinator);
  EXPECT_TRUE(coordinator.await(kReturn, 1));
}

TEST_F(SecondLook, TellsAReturnAgainThatWasNotHeard) {
  std::atomic<int> returns{0};
  std::atomic<bool> told{false};
  ScriptedCoordinator coordinator(
      directory_, [&](const std::string& request) -> std::optional<ScriptedCoordinator::Reply> {
        if (request == kWatch && !told.exchange(true))
          return ScriptedCoordinator::watch(with_orphan_);
        if (request == kReturn && ++returns == 1) return ScriptedCoordinator::unavailable();
        if (request == kSelf) return ScriptedCoordinator::self(with_orphan_);
        return std::nullopt;
      });
  const auto borrower = open_borrower(coordinator);
  await([&] { return returns >= 2; });
}

// A slab that was put up, or that is free again, and of which the coordinator has not heard is lent
// to nobody.
TEST_F(SecondLook, OffersAgainWhatWasNotHeard) {
  std::atomic<int> offers{0};
  ScriptedCoordinator coordinator(
      directory_, [&](const std::string& request) -> std::optional<ScriptedCoordinator::Reply> {
        if (request == kOffer && ++offers == 1) return ScriptedCoordinator::unavailable();
        return std::nullopt;
      });
  auto lender = open({.device = "emu:0", .coordinator = coordinator.address(), .name = "lender"});
  await([&] { return lender->status().connected; });
  ASSERT_TRUE(lender->lend(4_MiB).ok());
  await([&] { return offers >= 2; });
}

TEST_F(SecondLook, ReportsAScrubAgainThatWasNotHeard) {
  std::atomic<int> scrubs{0};
  wire::Snapshot quarantined;  // the ledger: given back, and not yet scrubbed
  ledger::Slab row;
  row.id.index = 1;
  row.bytes = 4_MiB;
  row.generation = 1;
  row.state = ledger::SlabState::quarantined;
  quarantined.own = {row};
  quarantined.last_event = 1;
  std::atomic<ScriptedCoordinator*> self{nullptr};
  ScriptedCoordinator coordinator(
      directory_, [&](const std::string& request) -> std::optional<ScriptedCoordinator::Reply> {
        if (request == kWatch && self.load()->asked(kWatch) == 1) {
          (void)self.load()->await(kOffer, 1);
          return ScriptedCoordinator::watch(quarantined);
        }
        if (request == kScrubbed && ++scrubs == 1) return ScriptedCoordinator::unavailable();
        if (request == kSelf) return ScriptedCoordinator::self(quarantined);
        return std::nullopt;
      });
  self = &coordinator;
  auto lender = open({.device = "emu:0", .coordinator = coordinator.address(), .name = "lender"});
  await([&] { return lender->status().connected; });
  ASSERT_TRUE(lender->lend(4_MiB).ok());
  await([&] { return scrubs >= 2; });
}

// A lender whose one slab is wanted back, as a coordinator tells it.
class ScriptedReclaim : public SecondLook {
 protected:
  static constexpr const char* kReclaim = "POST /v1/reclaims";
  static constexpr const char* kStatus = "GET /v1/reclaims/7";

  [[nodiscard]] static ScriptedCoordinator::Reply started(std::vector<ledger::SlabId> withdrawn) {
    ledger::Reclaim reclaim;
    reclaim.id = 7;
    reclaim.bytes_wanted = 4_MiB;
    reclaim.outstanding = {{random_id<ClientTag>(), 1}};
    return ScriptedCoordinator::reclaim({reclaim, std::move(withdrawn)});
  }
  // Once the coordinator has heard of its slab.
  [[nodiscard]] std::optional<Runtime> open_lender(const ScriptedCoordinator& coordinator) {
    auto lender = open({.device = "emu:0", .coordinator = coordinator.address(), .name = "lender"});
    await([&] { return lender->status().connected; });
    EXPECT_TRUE(lender->lend(4_MiB).ok());
    EXPECT_TRUE(coordinator.await(kOffer, 1));
    return lender;
  }
};

// The first request has begun it, and withdrawn the slab; neither its answer nor the next one
// comes. Whoever asks for another one then is told that nothing is left to want.
TEST_F(ScriptedReclaim, IsAskedForAgainWhereItsAnswerIsLostAndBringsItsSlabHome) {
  std::atomic<ScriptedCoordinator*> self{nullptr};
  ScriptedCoordinator coordinator(
      directory_, [&](const std::string& request) -> std::optional<ScriptedCoordinator::Reply> {
        if (request != kReclaim) return std::nullopt;
        if (self.load()->asked(kReclaim) <= 2)
          return ScriptedCoordinator::Reply{ScriptedCoordinator::kNoAnswer, {}};
        if (self.load()->asked_anew(kReclaim) == 1) return started({{random_id<ClientTag>(), 1}});
        return ScriptedCoordinator::reclaim({});
      });
  self = &coordinator;
  auto lender = open_lender(coordinator);
  auto reclaim = lender->reclaim(4_MiB, std::chrono::minutes(1));
  ASSERT_TRUE(reclaim.ok());
  const auto outcome = reclaim->wait();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->bytes_returned, 4_MiB);
  EXPECT_EQ(lender->status().lent_bytes, 0u);
}

// The snapshot that follows the lost answer no longer names the slab that the reclaim has
// withdrawn.
TEST_F(ScriptedReclaim, IsAnsweredBeforeWhatASnapshotMissesIsOfferedAgain) {
  std::atomic<ScriptedCoordinator*> self{nullptr};
  ScriptedCoordinator coordinator(
      directory_, [&](const std::string& request) -> std::optional<ScriptedCoordinator::Reply> {
        const ScriptedCoordinator& to = *self.load();
        if (request == kWatch && to.asked(kWatch) == 2) return ScriptedCoordinator::watch({});
        if (request != kReclaim) return std::nullopt;
        if (to.asked(kSelf) == 0 && to.asked(kOffer) == 1)
          return ScriptedCoordinator::Reply{ScriptedCoordinator::kNoAnswer, {}};
        return started({{random_id<ClientTag>(), 1}});
      });
  self = &coordinator;
  auto lender = open_lender(coordinator);
  ASSERT_TRUE(coordinator.await(kWatch, 1));
  auto reclaim = lender->reclaim(4_MiB, std::chrono::minutes(1));
  ASSERT_TRUE(reclaim.ok());
  EXPECT_TRUE(reclaim->wait().ok());
  EXPECT_EQ(coordinator.asked(kOffer), 1);
}

TEST_F(ScriptedReclaim, IsLookedForInASnapshotWhereTheCoordinatorHasNoReplyToIt) {
  std::atomic<ScriptedCoordinator*> self{nullptr};
  ScriptedCoordinator coordinator(
      directory_, [&](const std::string& request) -> std::optional<ScriptedCoordinator::Reply> {
        if (request == kReclaim) return ScriptedCoordinator::without_reply();
        if (request == kWatch) (void)self.load()->await("the end", 1);
        return std::nullopt;
      });
  self = &coordinator;
  auto lender = open_lender(coordinator);
  ASSERT_TRUE(coordinator.await(kWatch, 1));
  auto reclaim = lender->reclaim(4_MiB, std::chrono::minutes(1));
  ASSERT_TRUE(reclaim.ok());
  EXPECT_EQ(code_of(reclaim->wait()), "deadline_exceeded");
  // Without a wish the watch goes on for 30 s.
  EXPECT_TRUE(
      test::eventually(std::chrono::seconds(20), [&] { return coordinator.asked(kWatch) >= 2; }));
}

TEST_F(ScriptedReclaim, EndsWhereNobodyCanTellWhoHoldsTheRest) {
  ScriptedCoordinator coordinator(
      directory_, [](const std::string& request) -> std::optional<ScriptedCoordinator::Reply> {
        if (request == kReclaim) return started({});
        if (request == kStatus) return ScriptedCoordinator::unavailable();
        return std::nullopt;
      });
  auto lender = open_lender(coordinator);
  auto reclaim = lender->reclaim(4_MiB, std::chrono::seconds(2));  // begun before that
  ASSERT_TRUE(reclaim.ok());
  EXPECT_EQ(code_of(reclaim->wait()), "deadline_exceeded");
  EXPECT_EQ(coordinator.asked(kStatus), 1) << "it was taken to say that nobody holds anything";
}

class ScriptedGroup : public test::RuntimeFixture {};

// Its last member leaves between what this one asks to create it and to join it.
TEST_F(ScriptedGroup, ThatEndedBeforeItWasJoinedIsCreatedAnew) {
  constexpr const char* kCreate = "POST /v1/groups";
  std::atomic<int> joins{0}, ends{0};
  groups::Group chat;
  chat.id = random_id<groups::GroupTag>();
  chat.name = "chat";
  chat.creator = random_id<ClientTag>();
  chat.topology.decode.stages = 2;
  chat.shape = {.model = "m", .dtype = "f16", .layout = "l"};
  ScriptedCoordinator coordinator(
      directory_, [&](const std::string& request) -> std::optional<ScriptedCoordinator::Reply> {
        if (request == kCreate) return ScriptedCoordinator::group(chat);
        if (!request.starts_with(kCreate) || !request.ends_with("/join")) return std::nullopt;
        return ++joins == 1 ? ScriptedCoordinator::not_found() : ScriptedCoordinator::unavailable();
      });
  auto engine = open({.device = "emu:1",
                      .coordinator = coordinator.address(),
                      .name = "engine",
                      .host_bytes = 64_MiB});
  ASSERT_TRUE(engine);
  auto member = GroupMember::join(*engine, {.name = "chat",
                                            .decode = {.stages = 2},
                                            .shape = {.model = "m", .dtype = "f16", .layout = "l"},
                                            .on_end = [&](const Error&) { ++ends; }});
  ASSERT_TRUE(member.ok()) << member.error().message;
  EXPECT_TRUE(coordinator.await(kCreate, 2));
  EXPECT_EQ(ends, 0);
}

}  // namespace
}  // namespace aqua
