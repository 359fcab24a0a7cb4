// SPDX-License-Identifier: Apache-2.0
// auto where computing prompts takes long: their order, and what it leaves to answers.
#include "tests/systems/schedule/timed.hpp"

namespace aqua::schedule::test {
namespace {

constexpr double kDecodes = 0.01;  // seconds that an iteration takes without prompts

// Each token of a prompt adds its seconds to an iteration.
class AutoPrompts : public ::testing::Test {
 protected:
  static SchedulerOptions roomy(double seconds_per_token) {
    SchedulerOptions wanted = options(seconds_per_token);
    wanted.device_blocks = 4000;
    return wanted;
  }
  void step(Timed& timed, double each) const {
    ASSERT_TRUE(timed.engine.scheduler().set_time(timed.now).ok());
    std::uint32_t tokens = 0;
    for (const PrefillChunk& chunk : timed.engine.plan().prefills) tokens += chunk.tokens;
    timed.step(kDecodes + each * tokens);
  }
  // A full chunk takes 0.26 s, more than twice the pace; 20 tokens take what is left of 0.09.
  void expect_pace_beside_prompt(Timed& timed) const {
    const std::vector<std::uint64_t> answers{timed.engine.arrive(20, 1000, false),
                                             timed.engine.arrive(20, 1000, false)};
    for (int i = 0; i < 10; ++i) step(timed, 0.004);
    const std::uint64_t prompt = timed.engine.arrive(1200, 10, false);
    int steps = 0;
    for (; generated(timed, prompt) == 0; ++steps) {
      step(timed, 0.004);
      for (const std::uint64_t id : answers) EXPECT_LT(timed.behind(id, 0.1), 0.2);
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_LE(steps, 66) << "nor does it have to do with less";
  }
  static std::uint32_t generated(const Timed& timed, std::uint64_t id) {
    return timed.engine.sequences().at(id).generated;
  }
};

TEST_F(AutoPrompts, LeaveAnswersTheirPace) {
  Timed timed(roomy(0.1));
  expect_pace_beside_prompt(timed);
}

TEST_F(AutoPrompts, LeaveItAlsoAfterTimesWithNothingToDo) {
  Timed timed(roomy(0.1));
  for (int i = 0; i < 20; ++i) {
    timed.engine.arrive(20, 3, false);
    while (!timed.engine.sequences().empty()) step(timed, 0.004);
    timed.now += 100;
  }
  expect_pace_beside_prompt(timed);
}

// Five milliseconds are beyond an engine that needs ten for its answers: prompts have ten as well,
// and not their least share of 16 tokens, with which this one would take ten iterations.
TEST_F(AutoPrompts, AreNotCutShortForAPaceThatCannotBeKept) {
  Timed timed(roomy(0.005));
  for (int i = 0; i < 3; ++i) timed.engine.arrive(20, 1000, false);
  for (int i = 0; i < 10; ++i) step(timed, 0.0002);
  const std::uint64_t prompt = timed.engine.arrive(200, 10, false);
  for (int i = 0; i < 7; ++i) step(timed, 0.0002);
  EXPECT_GT(generated(timed, prompt), 0U);
}

// A token costs half of the pace, so that one in an iteration would be left for it.
TEST_F(AutoPrompts, HaveTheirShareWhateverItCosts) {
  Timed timed(roomy(0.1));
  timed.engine.arrive(20, 1000, false);
  for (int i = 0; i < 3; ++i) step(timed, 0.05);
  std::uint64_t prompt = timed.engine.arrive(100, 1, false);  // by which it learns the costs
  while (timed.engine.sequences().contains(prompt)) step(timed, 0.05);
  prompt = timed.engine.arrive(160, 10, false);
  for (int i = 0; i < 10; ++i) step(timed, 0.05);  // 16 tokens each
  EXPECT_EQ(generated(timed, prompt), 1U);
}

// Twice as many short prompts come as can be computed. The long one stands behind those that come
// within six times its 0.6 s, which take 7.2 s.
TEST_F(AutoPrompts, ThatAreShortPassALongOneForSixTimesAsLongAsItTakes) {
  SchedulerOptions wanted = roomy(0.5);
  wanted.slice_iterations = 64;  // nobody is overdue
  Timed timed(wanted);
  timed.engine.arrive(600, 1, false);  // by which it learns the costs
  while (!timed.engine.sequences().empty()) step(timed, 0.001);
  const double came = timed.now;
  const std::uint64_t length = timed.engine.arrive(600, 1, false);
  std::map<std::uint64_t, double> others;
  for (int i = 0; i < 4; ++i) others[timed.engine.arrive(60, 1, false)] = timed.now;
  while (timed.engine.sequences().contains(length) && timed.now < came + 10) {
    step(timed, 0.001);
    for (int i = 0; i < 2; ++i) others[timed.engine.arrive(60, 1, false)] = timed.now;
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_FALSE(timed.engine.sequences().contains(length)) << "7.2 s, and what it takes itself";
  std::size_t passed = 0, behind = 0;
  for (const auto& [id, at] : others) {
    const bool has_passed = !timed.engine.sequences().contains(id);
    if (at < came + 3) passed += has_passed ? 1 : 0;
    if (at > came + 4.5) behind += has_passed ? 0 : 1;
  }
  EXPECT_GT(passed, 60U) << "of those that came while it waited";
  EXPECT_GT(behind, 60U) << "which came too late to pass";
}

// Every fourth iteration takes ten times as long: six at 20 tokens a second, where the mean of what
// the iterations would sustain is fifteen.
TEST_F(AutoPrompts, WhatIsSustainedIsTokensOverTheTimeThatTheyTook) {
  Timed timed(options(0.05));
  for (int i = 0; i < 12; ++i) timed.engine.arrive(12, 1000, false);
  for (int i = 0; i < 60; ++i) timed.step(i % 4 == 3 ? 0.1 : 0.01);
  EXPECT_EQ(timed.engine.scheduler().status().sharing, Sharing::partial);
  EXPECT_LE(timed.engine.scheduler().status().paced, 7U);
}

}  // namespace
}  // namespace aqua::schedule::test
