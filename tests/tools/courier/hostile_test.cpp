// SPDX-License-Identifier: Apache-2.0
// Those who connect to a courier and say what they should not: strangers, and a peer with a good
// certificate. Each is told so or hung up on, nothing is left of it, and parcels go on crossing.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aqua/handoff/pools.hpp"
#include "aqua/handoff/segments.hpp"
#include "base/wake_event.hpp"
#include "tests/tools/courier/two_servers.hpp"
#include "tools/courier/net/link.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::courier {
namespace {

class HostileVisitor : public ::testing::Test {
 protected:
  // As a peer, whose courier this is not.
  [[nodiscard]] Link connect() const {
    return Link::connect(*identity_, "127.0.0.1:" + servers_.port(), "b.test", never_.get())
        .value();
  }
  [[nodiscard]] Link greeted() const {
    Link link = connect();
    EXPECT_TRUE(
        link.say(Hello{.pool = "carried", .from = "prefill", .to = "decode", .index = 9}).ok());
    EXPECT_TRUE(std::holds_alternative<Welcome>(heard(link)));
    return link;
  }
  // Welcome also where nothing is heard any more.
  static Message heard(Link& link) {
    auto frame = link.receive();
    return frame.ok() && frame->message ? *std::move(frame->message) : Message(Welcome{});
  }
  static std::string code_of(const Message& message) {
    const auto* const refused = std::get_if<Refused>(&message);
    return refused == nullptr ? "not refused" : std::string(to_string(refused->error.code));
  }
  static Offer offer(std::uint64_t number, std::uint64_t bytes) {
    return {number,
            {.number = number,
             .id = "hostile",
             .turn = 7,
             .given = 7,
             .segment = {.number = 1, .generation = 1, .bytes = bytes},
             .tokens = 1}};
  }
  // Once the keeper has nothing of the hostile one, a parcel crosses.
  void all_is_well() {
    const auto decode = servers_.decode(2);
    while (!list_segments(servers_.keeper_of_b().socket()).value().empty())
      std::this_thread::yield();
    EXPECT_EQ(list_pools(servers_.keeper_of_b().socket()).value()[0].waiting, 0U);
    const auto prefill = servers_.prefill();
    ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
    EXPECT_EQ(decode->ask("take 1"), "a");
    EXPECT_EQ(decode->ask("finish"), "ok");
    EXPECT_EQ(prefill->ask("delivered"), "confirmed");
  }

  mutable test::TwoServers servers_;
  const UniqueFd never_ = make_wake_event().value();
  const std::unique_ptr<MutualTls> identity_ =
      MutualTls::load(
          {{servers_.path("a.pem"), servers_.path("a.key")}, servers_.path("authority.pem")})
          .value();
};

TEST_F(HostileVisitor, StrangersSpoilNothing) {
  std::vector<UniqueFd> strangers;
  for (std::size_t i = 0; i < 120; ++i) {
    strangers.push_back(
        connect_to("127.0.0.1:" + servers_.port(), std::chrono::seconds(5), never_.get()).value());
    const std::string words = i % 3 == 0 ? "GET / HTTP/1.1\r\n\r\n" : std::string(i, '\x16');
    (void)::send(strangers.back().get(), words.data(), words.size(), MSG_NOSIGNAL);
  }
  servers_.kill_a();
  servers_.start_a();
  all_is_well();
}

TEST_F(HostileVisitor, WhoSaysNoHelloIsSentAway) {
  Link bytes = connect(), go = connect(), of_another_version = connect();
  EXPECT_TRUE(bytes.send(std::vector<std::byte>(100)).ok());
  EXPECT_EQ(code_of(heard(bytes)), "invalid_argument");
  EXPECT_TRUE(go.say(Go{1}).ok());
  EXPECT_EQ(code_of(heard(go)), "invalid_argument");
  EXPECT_TRUE(of_another_version.say(Hello{.version = kVersion + 1, .pool = "carried"}).ok());
  EXPECT_EQ(code_of(heard(of_another_version)), "failed_precondition");
  Link nobody = connect();
  EXPECT_TRUE(nobody.say(Hello{.pool = "carried", .from = "", .to = "decode"}).ok());
  EXPECT_EQ(code_of(heard(nobody)), "invalid_argument");
  all_is_well();
}

TEST_F(HostileVisitor, WhatOnlyAReceiverSaysEndsTheConnection) {
  Link link = greeted();
  EXPECT_TRUE(link.say(Landed{1}).ok());
  EXPECT_EQ(code_of(heard(link)), "invalid_argument");
  EXPECT_FALSE(link.receive().ok());
  all_is_well();
}

TEST_F(HostileVisitor, MoreThanThereIsRoomForIsRefusedAndTheNextIsTaken) {
  const auto decode = servers_.decode(2);
  Link link = greeted();
  EXPECT_TRUE(link.say(offer(1, std::uint64_t{1} << 47)).ok());
  EXPECT_EQ(code_of(heard(link)), "resource_exhausted");
  Offer bad = offer(2, 100);
  bad.parcel.id = "";
  EXPECT_TRUE(link.say(bad).ok());
  EXPECT_EQ(code_of(heard(link)), "invalid_argument");
  Offer good = offer(3, 100);
  good.parcel.turn = 20;
  EXPECT_TRUE(link.say(good).ok());
  EXPECT_TRUE(std::holds_alternative<Go>(heard(link)));
}

TEST_F(HostileVisitor, MoreBytesThanWereOfferedEndTheConnectionAndTheParcel) {
  {
    const auto decode = servers_.decode(2);
    Link link = greeted();
    EXPECT_TRUE(link.say(offer(1, 100)).ok());
    EXPECT_TRUE(std::holds_alternative<Go>(heard(link)));
    EXPECT_TRUE(link.send(std::vector<std::byte>(101)).ok());
    EXPECT_EQ(code_of(heard(link)), "invalid_argument");
    EXPECT_EQ(decode->ask("leave"), "ok");
  }
  all_is_well();
}

TEST_F(HostileVisitor, WhatCannotHaveBeenCutOffIsToldNobody) {
  const auto decode = servers_.decode(2);
  Link link = greeted();
  for (const ParcelHead& head : {ParcelHead{"", 1}, ParcelHead{std::string(257, 'x'), 1},
                                 ParcelHead{"a", 0}, ParcelHead{"a", kMostTurn + 1}})
    EXPECT_TRUE(link.say(CutOff{head}).ok());
  EXPECT_TRUE(link.say(CutOff{{"b", 1}}).ok());
  EXPECT_EQ(decode->ask("cut-off"), "b.1");
}

TEST_F(HostileVisitor, ASecondOfferBeforeTheFirstHasComeEndsBoth) {
  Link link = greeted();  // nobody has room
  EXPECT_TRUE(link.say(offer(1, 100)).ok());
  EXPECT_TRUE(link.say(offer(2, 100)).ok());
  EXPECT_EQ(code_of(heard(link)), "invalid_argument");
  all_is_well();
}

}  // namespace
}  // namespace aqua::courier
