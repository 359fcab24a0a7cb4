// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <typeinfo>

#include "tests/wire/samples.hpp"
#include "wire/limits.hpp"

namespace aqua::wire {
namespace {

using ledger::Time;
using samples::kNow;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RoundTrip, EveryMessageComesBackTheSame) {
  samples::for_each([]<typename Message>(const Message& sample) {
    const std::string text = encode(sample, kNow);
    const auto decoded = decode<Message>(text, kNow);
    ASSERT_TRUE(decoded.ok()) << typeid(Message).name() << ": " << decoded.error().message;
    EXPECT_EQ(encode(*decoded, kNow), text);
  });
}

TEST(RoundTrip, ClientInfoKeepsEveryField) {
  const auto decoded = decode<JoinRequest>(encode(JoinRequest{samples::client_info()}));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->info, samples::client_info());
}

TEST(RoundTrip, GrantKeepsEveryField) {
  const auto decoded =
      decode<LeaseReply>(encode(LeaseReply{samples::kEpoch, {samples::grant()}}, kNow), kNow);
  ASSERT_TRUE(decoded.ok());
  ASSERT_EQ(decoded->grants.size(), 1U);
  const ledger::Grant& grant = decoded->grants[0];
  EXPECT_EQ(grant.slab, samples::kSlab);
  EXPECT_EQ(grant.bytes, samples::grant().bytes);
  EXPECT_EQ(grant.generation, 3U);
  EXPECT_EQ(grant.secret, samples::grant().secret);
  EXPECT_EQ(grant.exchange, "/run/x.sock");
  EXPECT_EQ(grant.expires, samples::grant().expires);
}

TEST(RoundTrip, ResultsKeepTheirCodes) {
  const auto decoded = decode<ScrubbedReply>(encode(samples::scrubbed_reply()));
  ASSERT_TRUE(decoded.ok());
  ASSERT_EQ(decoded->results.size(), 2U);
  EXPECT_EQ(decoded->results[0].value(), ledger::SlabState::offered);
  EXPECT_EQ(decoded->results[1].error().code, Code::aborted);
}

TEST(RoundTrip, EveryCodeHasAName) {
  for (int i = 0; i <= static_cast<int>(Code::internal); ++i) {
    const Code code = static_cast<Code>(i);
    const auto decoded = decode<ErrorReply>(encode(ErrorReply{samples::kEpoch, {code, "x"}}));
    ASSERT_TRUE(decoded.ok()) << to_string(code);
    EXPECT_EQ(decoded->error.code, code);
  }
}

TEST(RoundTrip, TimesAreToldAsDistances) {
  const Time elsewhere{5};
  WatchReply reply{
      .epoch = samples::kEpoch, .last_event = 12, .events = {samples::event()}, .snapshot = {}};
  const auto decoded = decode<WatchReply>(encode(reply, kNow), elsewhere);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->events.at(0).deadline, elsewhere + Time{900});
}

TEST(RoundTrip, PastArrivesAsNowAndNeverAsFarAway) {
  WatchReply reply{
      .epoch = samples::kEpoch, .last_event = 12, .events = {samples::event()}, .snapshot = {}};
  reply.events[0].deadline = kNow - Time{1};
  EXPECT_EQ(decode<WatchReply>(encode(reply, kNow), kNow)->events.at(0).deadline, kNow);
  reply.events[0].deadline = Time::max();
  EXPECT_EQ(decode<WatchReply>(encode(reply, kNow), kNow)->events.at(0).deadline,
            kNow + Time{static_cast<Time::rep>(kMaxDistanceMs)});
}

TEST(RoundTrip, StateAndOwnSlabsNeverCarrySecrets) {
  State state = samples::state();
  state.slabs[0].secret = samples::id<LeaseSecret>(0x5e);
  EXPECT_THAT(encode(state, kNow), Not(HasSubstr("5e5e5e5e")));
  Snapshot snapshot = samples::snapshot();
  snapshot.held.clear();
  snapshot.own[0].secret = samples::id<LeaseSecret>(0x5e);
  EXPECT_THAT(encode(snapshot, kNow), Not(HasSubstr("5e5e5e5e")));
}

TEST(RoundTrip, TextThatIsNotUtf8IsMendedWhenSent) {
  const std::string text = encode(ErrorReply{samples::kEpoch, {Code::internal, "bad \xff byte"}});
  const auto decoded = decode<ErrorReply>(text);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->error.message, "bad \xEF\xBF\xBD byte");
}

TEST(RoundTrip, LongErrorMessageIsCutAndStillReadable) {
  const auto decoded = decode<ErrorReply>(
      encode(ErrorReply{samples::kEpoch, {Code::internal, std::string(9000, 'x')}}));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->error.message.size(), kMaxMessage);
}

}  // namespace
}  // namespace aqua::wire
