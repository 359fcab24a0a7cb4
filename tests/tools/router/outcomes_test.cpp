// SPDX-License-Identifier: Apache-2.0
// Every conversation is counted once, however it ends.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"
#include "tools/router/flow/conversation.hpp"

namespace aqua::router::test {
namespace {

class Outcomes : public ::testing::Test {
 protected:
  Outcomes() {
    engine_.script({}, [this](std::uint32_t token) -> std::string {
      if (token < 20) return "";
      return engine_.over(std::chrono::milliseconds(20)) ? "cut" : ": busy\n\n";
    });
  }
  void await_engine() {
    EXPECT_TRUE(becomes([&] { return fleet_->engines().at(0).state == "up"; }));
  }
  [[nodiscard]] std::unique_ptr<Conversation> converse() {
    const std::string body = request_of(some_prompt(1, 9), 1, 40).dump();
    return std::make_unique<Conversation>(*fleet_, counters_, ConversationOptions{},
                                          parse_asked(Api::completions, body).value(), body,
                                          "cmpl-1");
  }
  void expect_counted(std::uint64_t failed, std::uint64_t gone) const {
    EXPECT_EQ(counters_.answered, 0U);
    EXPECT_EQ(counters_.failed, failed);
    EXPECT_EQ(counters_.gone, gone);
  }

  ScriptedEngine engine_;
  const std::unique_ptr<Fleet> fleet_ =
      Fleet::open({}, {parse_engine("a=" + engine_.url()).value()}).value();
  Counters counters_;
};

// What was written to the client does not get there: its reader goes, and asks nothing more.
TEST_F(Outcomes, OneThatIsNotReadToItsEndHasLostItsClient) {
  await_engine();
  auto conversation = converse();
  ASSERT_TRUE(conversation->begin([] { return true; }).ok());
  EXPECT_FALSE(conversation->next([] { return true; }).value().empty());
  conversation.reset();
  expect_counted(0, 1);
  EXPECT_EQ(fleet_->counts().requests, 0U);
}

TEST_F(Outcomes, OneWhoseClientIsSeenToGoIsCountedOnce) {
  await_engine();
  auto conversation = converse();
  ASSERT_TRUE(conversation->begin([] { return true; }).ok());
  EXPECT_FALSE(conversation->next([] { return true; }).value().empty());
  EXPECT_EQ(conversation->next([] { return false; }).error().code, Code::cancelled);
  conversation.reset();
  expect_counted(0, 1);
}

TEST_F(Outcomes, OneThatFindsNoPlaceHasFailed) {
  await_engine();
  ASSERT_TRUE(fleet_->drain("a").ok());
  EXPECT_EQ(converse()->begin([] { return true; }).error().code, Code::unavailable);
  expect_counted(1, 0);
}

}  // namespace
}  // namespace aqua::router::test
