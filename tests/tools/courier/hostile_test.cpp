// SPDX-License-Identifier: Apache-2.0
// Those who connect to a courier and say what they should not: strangers, and a peer with a good
// certificate. Each is told so or hung up on, nothing is left of it, and parcels go on crossing.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/text/plain_name.hpp"
#include "tests/base/eventually.hpp"
#include "tests/tools/courier/hostile_visitor.hpp"
#include "tools/courier/carry/peer_listener.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::courier {
namespace {

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

TEST_F(HostileVisitor, WhatAPeerSaysIsToldInALine) {
  const auto identity = MutualTls::load({{servers_.path("b.pem"), servers_.path("b.key")},
                                         servers_.path("authority.pem")})
                            .value();
  Counters counters;
  std::vector<std::string> told;  // by the one thread of the one visitor
  auto listener =
      PeerListener::open({.address = "127.0.0.1:0", .peers = {"a.test"}, .pools = {"carried"}},
                         servers_.keeper_of_b().socket(), *identity, counters,
                         [&](Event, const std::string& what) { told.push_back(what); })
          .value();
  Link link = Link::connect(*identity_, "127.0.0.1:" + std::to_string(listener->port()), "b.test",
                            never_.get())
                  .value();
  const std::string pool = "x\nconnected from c.test\x1b[2J" + std::string(9000, 'x');
  EXPECT_TRUE(link.say(Hello{.pool = pool, .from = "prefill", .to = "decode"}).ok());
  EXPECT_EQ(code_of(heard(link)), "permission_denied");
  listener.reset();  // joins that thread
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(is_plain(told[0])) << told[0];
  EXPECT_LT(told[0].size(), 1000U);
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

TEST_F(HostileVisitor, HowFarAParcelIsCanBeSeen) {
  const auto decode = servers_.decode(2);
  Link link = greeted();
  EXPECT_TRUE(link.say(offer(1, 2'000'000)).ok());
  EXPECT_TRUE(std::holds_alternative<Go>(heard(link)));
  EXPECT_TRUE(link.send(std::vector<std::byte>(1'000'000)).ok());
  EXPECT_TRUE(test::eventually(
      [&] { return servers_.courier_of_b()->ask("received-bytes") == "1000000"; }));
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
