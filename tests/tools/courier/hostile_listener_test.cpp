// SPDX-License-Identifier: Apache-2.0
// One with a peer's certificate takes parcels as it should not: that is named, nothing is lost, and
// the parcel is carried over the next connection.
#include "tests/tools/courier/hostile_listener.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace aqua::courier {
namespace {

struct Misdeed {
  const char* name;
  const char* words;  // that are said of it
  std::function<void(Link&, const Offer&)> commit;
  int patience = 20;  // the couriers', in seconds
};
// gtest's, of a parameter that a test fails with.
void PrintTo(const Misdeed& misdeed, std::ostream* out) {
  *out << misdeed.name;
}

template <typename... Messages>
auto says(const Messages&... messages) {
  return [=](Link& link, const Offer&) { ((void)link.say(messages), ...); };
}
constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;

class ListenerForParcels : public ::testing::Test {
 protected:
  explicit ListenerForParcels(int patience = 20) : servers_(patience) {}

  test::TwoServers servers_;
};
class MisdeedOfAListener : public ListenerForParcels,
                           public ::testing::WithParamInterface<Misdeed> {
 protected:
  MisdeedOfAListener() : ListenerForParcels(GetParam().patience) {}
};
INSTANTIATE_TEST_SUITE_P(
    Each, MisdeedOfAListener,
    ::testing::Values(Misdeed{"GoTwice", "out of turn",
                              [](Link& link, const Offer& offer) {
                                EXPECT_TRUE(link.say(Go{offer.number}).ok());
                                HostileListener::read(link, offer.parcel.segment.bytes);
                                EXPECT_TRUE(link.say(Go{offer.number}).ok());
                              }},
                      Misdeed{"GoWhenItHasLanded", "out of turn",
                              [](Link& link, const Offer& offer) {
                                EXPECT_TRUE(link.say(Landed{offer.number}).ok());
                                EXPECT_TRUE(link.say(Go{offer.number}).ok());
                              }},
                      Misdeed{"LandedTwice", "out of turn",
                              [](Link& link, const Offer& offer) {
                                EXPECT_TRUE(link.say(Landed{offer.number}).ok());
                                EXPECT_TRUE(link.say(Landed{offer.number}).ok());
                              }},
                      Misdeed{"LaterWhenItHasLanded", "out of turn",
                              [](Link& link, const Offer& offer) {
                                EXPECT_TRUE(link.say(Landed{offer.number}).ok());
                                EXPECT_TRUE(link.say(Later{offer.number}).ok());
                              }},
                      Misdeed{"AnAnswerToWhatWasNotOffered", "no answer to an offer",
                              [](Link& link, const Offer& offer) {
                                EXPECT_TRUE(link.say(Go{offer.number + 1}).ok());
                              }},
                      Misdeed{"WelcomeAgain", "no answer to an offer", says(Welcome{})},
                      Misdeed{"WhatAMirrorHears", "no answer to an offer", says(Held{})},
                      Misdeed{"WhatOnlyASenderSays", "no answer to an offer", says(Withdraw{1})},
                      Misdeed{"AHugeNumber", "number", says(Go{kHuge})},
                      Misdeed{"AHugeTurn", "turn",
                              [](Link& link, const Offer& offer) {
                                EXPECT_TRUE(link.say(Stale{offer.number, kHuge}).ok());
                              }},
                      Misdeed{"Bytes", "bytes from who is to receive them",
                              [](Link& link, const Offer&) {
                                EXPECT_TRUE(link.send(std::vector<std::byte>(100)).ok());
                              }},
                      Misdeed{"SilenceWhenAllBytesHaveCome", "no answer to what was sent",
                              [](Link& link, const Offer& offer) {
                                EXPECT_TRUE(link.say(Go{offer.number}).ok());
                                HostileListener::read(link, offer.parcel.segment.bytes);
                                EXPECT_FALSE(link.receive().ok());
                              },
                              /*patience=*/1}),
    [](const auto& misdeed) { return misdeed.param.name; });

TEST_P(MisdeedOfAListener, IsNamedAndTheParcelIsCarriedAgain) {
  HostileListener hostile(servers_);
  const auto prefill = servers_.prefill();
  {
    Link link = hostile.accept();
    link.greeted(std::chrono::seconds(60));
    ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
    const Message offered = HostileListener::heard(link);
    ASSERT_TRUE(std::holds_alternative<Offer>(offered));
    GetParam().commit(link, std::get<Offer>(offered));
    EXPECT_TRUE(hostile.is_said(GetParam().words));
  }
  hostile.make_way();
  const auto decode = servers_.decode(2);
  EXPECT_EQ(decode->ask("take 1"), "a");
  EXPECT_EQ(decode->ask("finish"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "confirmed");
}

TEST_F(ListenerForParcels, EndedTwiceEndsNothingElse) {
  HostileListener hostile(servers_);
  const auto prefill = servers_.prefill();
  {
    Link link = hostile.accept();
    link.greeted(std::chrono::seconds(60));
    ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
    const auto number = std::get<Offer>(HostileListener::heard(link)).number;
    EXPECT_TRUE(link.say(Ended{number, ParcelEvent::declined}).ok());
    EXPECT_EQ(prefill->ask("delivered"), "declined");
    ASSERT_EQ(prefill->ask("carry b 1 6 88"), "ok");
    EXPECT_TRUE(link.say(Ended{number, ParcelEvent::declined}).ok());
    ASSERT_TRUE(std::holds_alternative<Offer>(HostileListener::heard(link)));
  }
  hostile.make_way();
  const auto decode = servers_.decode(2);
  EXPECT_EQ(decode->ask("take 1"), "b");
  EXPECT_EQ(decode->ask("finish"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "confirmed");
}

}  // namespace
}  // namespace aqua::courier
