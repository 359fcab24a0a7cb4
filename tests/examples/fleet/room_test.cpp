// SPDX-License-Identifier: Apache-2.0
// The room that a destination keeps for requests on their way to it, and who has to wait for it.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/examples/fleet/rig.hpp"
#include "tools/http/http_client.hpp"

namespace aqua::fleet::test {
namespace {

using router::test::ask;
using router::test::becomes;
using router::test::request_of;
using router::test::some_prompt;

// Options of engines whose blocks have 16 tokens.
const std::vector<std::string> kSixtyFourBlocks{"--iteration-ms", "10", "--blocks", "64"};
const std::vector<std::string> kThirtyTwoBlocks{"--iteration-ms", "10", "--blocks", "32"};

// A request that is to come to the engine, and that nobody hands over. Its room is kept until it
// hangs up.
class Room {
 public:
  Room(const FleetEngine& engine, const std::string& request,
       const std::vector<std::uint32_t>& prompt, std::uint32_t tokens)
      : client_(http::parse_url(engine.url()).value(), {}) {
    Json body = request_of(prompt, 1, tokens);
    body["aqua"] = {{"request", request}, {"turn", 2}, {"answered", 10}, {"receive", true}};
    stream_ = std::async(std::launch::async, [this, text = body.dump()] {
      (void)client_.post("/v1/completions", text, [this](std::string_view said, auto) {
        if (said.find("reserved") != said.npos) kept_ = true;
        if (said.find("failed") != said.npos) failed_ = true;
        return http::Heard::something;
      });
    });
  }
  ~Room() { client_.stop(); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  // Waits for the engine's word. False: it keeps none.
  [[nodiscard]] bool is_kept() const {
    EXPECT_TRUE(becomes([&] { return kept_ || failed_; }));
    return kept_;
  }

 private:
  http::HttpClient client_;
  std::atomic<bool> kept_{false}, failed_{false};
  std::future<void> stream_{};
};

// So it is where an engine is drained. Had each of them room for all that it may grow by, the last
// would find none.
TEST(FleetRooms, AsManyFindRoomAtOnceAsFit) {
  const Keeper keeper;
  const FleetEngine b(keeper, "engine-b", kSixtyFourBlocks);
  std::deque<Room> rooms;
  for (int i = 0; i < 6; ++i) rooms.emplace_back(b, "r" + std::to_string(i), prompt_of(1), 500);
  for (const Room& room : rooms) EXPECT_TRUE(room.is_kept());
  EXPECT_LE(b.metric("fleet_blocks_of_rooms"), 64);
  rooms.clear();
  EXPECT_TRUE(becomes([&] { return b.holds_nothing(); }));
}

// In the end it needs all of the engine, and the room of the other is free long before.
TEST(FleetRooms, AnAnswerIsGrantedItsTurnBesideTheRoomOfAnother) {
  constexpr std::uint32_t kTokens = 960;
  const Keeper keeper;
  const FleetEngine a(keeper, "engine-a", kSixtyFourBlocks);
  const FleetEngine b(keeper, "engine-b", kSixtyFourBlocks);
  std::optional<Room> other(std::in_place, b, "other", prompt_of(2), 100);
  ASSERT_TRUE(other->is_kept());
  const RouterProcess router({a.url(), b.url()}, {"--hold", "30000"});
  const auto prompt = prompt_of(1);
  bool moved = false;
  const Answer answer = ask(router.url(), request_of(prompt, 1, kTokens), "/v1/completions",
                            [&](const Answer& so_far) {
                              if (so_far.ids.size() >= 300) other.reset();
                              if (so_far.ids.size() < 20 || std::exchange(moved, true)) return true;
                              EXPECT_TRUE(move_the_only_one(router));
                              return true;
                            });
  EXPECT_EQ(answer, reference_answer(prompt, 1, kTokens)) << answer.error;
  EXPECT_EQ(moves_done(router, "kv"), 1);
  EXPECT_EQ(router.metric("aqua_router_recoveries_total"), 0);
}

TEST(FleetRooms, NoneIsKeptForAnAnswerThatMayOutgrowTheEngine) {
  const Keeper keeper;
  const FleetEngine b(keeper, "engine-b", kThirtyTwoBlocks);
  constexpr std::uint32_t kFits = 32 * 16 - 60 + 1;  // nothing reads the KV of the last token
  EXPECT_TRUE(Room(b, "fits", prompt_of(1), kFits).is_kept());
  EXPECT_TRUE(becomes([&] { return b.holds_nothing(); }));
  EXPECT_FALSE(Room(b, "outgrows", prompt_of(1), kFits + 1).is_kept());
}

// A room that leaves 32 blocks to others.
class HalfTaken : public ::testing::Test {
 protected:
  HalfTaken() { EXPECT_TRUE(room_->is_kept()); }

  const Keeper keeper_;
  const FleetEngine b_{keeper_, "engine-b", kSixtyFourBlocks};
  std::optional<Room> room_{std::in_place, b_, "room", some_prompt(2, 470), 500};
};

TEST_F(HalfTaken, AnAnswerThatGrowsBeyondWhatIsLeftWaitsForTheRest) {
  constexpr std::size_t kMostBeside = 32 * 16 - 60 + 1;  // it waits behind this token
  const auto prompt = prompt_of(1);
  const Answer answer =
      ask(b_.url(), request_of(prompt, 1, 600), "/v1/completions", [&](const Answer& so_far) {
        if (so_far.ids.size() >= kMostBeside) room_.reset();
        return true;
      });
  EXPECT_EQ(answer, reference_answer(prompt, 1, 600)) << answer.error;
}

TEST_F(HalfTaken, APromptThatIsLargerThanWhatIsLeftWaitsForTheRest) {
  const auto prompt = some_prompt(3, 600);
  auto asked =
      std::async(std::launch::async, [&] { return ask(b_.url(), request_of(prompt, 1, 50)); });
  EXPECT_TRUE(becomes([&] { return b_.metric("fleet_requests") == 2; }));
  room_.reset();
  EXPECT_EQ(asked.get(), reference_answer(prompt, 1, 50));
}

}  // namespace
}  // namespace aqua::fleet::test
