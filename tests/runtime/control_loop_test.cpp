// SPDX-License-Identifier: Apache-2.0
// The runtime's one thread of decisions: when it steps, and what it runs before.
#include "runtime/queues/control_loop.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <vector>

#include "tests/runtime/signal.hpp"

namespace aqua::runtime {
namespace {

using std::chrono::milliseconds;

TEST(ControlLoop, StepsAtOnceAndAgainWhenItsTimeHasCome) {
  ControlLoop loop;
  std::atomic<int> steps{0};
  Signal third;
  loop.start([&](Clock::time_point now) {
    if (++steps == 3) third.set();
    return steps < 3 ? now + milliseconds(5) : Clock::time_point::max();
  });
  EXPECT_TRUE(third.wait());
  loop.stop();
  EXPECT_EQ(steps, 3);
}

TEST(ControlLoop, IsNotCalledBeforeItsTime) {
  ControlLoop loop;
  std::array<Clock::time_point, 2> at{};
  std::size_t steps = 0;
  Signal second;
  loop.start([&](Clock::time_point now) {
    if (steps < 2) at[steps] = now;
    if (++steps == 2) second.set();
    return steps < 2 ? now + milliseconds(30) : Clock::time_point::max();
  });
  ASSERT_TRUE(second.wait());
  loop.stop();
  EXPECT_GE(at[1] - at[0], milliseconds(30));
}

TEST(ControlLoop, ANudgeOrAPostWakesIt) {
  ControlLoop loop;
  std::atomic<int> steps{0};
  std::array<Signal, 4> stepped;
  loop.start([&](Clock::time_point) {
    const auto step = static_cast<std::size_t>(steps++);
    if (step < stepped.size()) stepped[step].set();
    return Clock::time_point::max();
  });
  ASSERT_TRUE(stepped[0].wait());
  loop.nudge();
  ASSERT_TRUE(stepped[1].wait());
  std::atomic<int> steps_at_task{-1};
  loop.post([&] { steps_at_task = steps.load(); });
  ASSERT_TRUE(stepped[2].wait());
  EXPECT_EQ(steps_at_task, 2) << "the task runs before the step";
}

TEST(ControlLoop, WhatWasPostedBeforeItStartsIsNotForgotten) {
  ControlLoop loop;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) loop.post([&, i] { order.push_back(i); });
  Signal done;
  loop.post([&] { done.set(); });
  loop.start([](Clock::time_point) { return Clock::time_point::max(); });
  ASSERT_TRUE(done.wait());
  loop.stop();
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST(ControlLoop, TasksAndStepsMayPostAndNudge) {
  ControlLoop loop;
  Signal done;
  int steps = 0;
  loop.start([&](Clock::time_point) {
    if (++steps == 1) loop.post([&] { loop.nudge(); });
    if (steps == 3) done.set();
    return Clock::time_point::max();
  });
  EXPECT_TRUE(done.wait());
}

TEST(ControlLoop, StopWaitsForTheStepInProgressAndNothingRunsLater) {
  ControlLoop loop;
  Signal begun, stopping;
  std::atomic<bool> ended{false};
  loop.start([&](Clock::time_point) {
    begun.set();
    EXPECT_TRUE(stopping.wait());
    ended = true;
    return Clock::time_point::max();
  });
  ASSERT_TRUE(begun.wait());
  stopping.set();
  loop.stop();
  EXPECT_TRUE(ended);
  loop.post([] { ADD_FAILURE(); });
  loop.nudge();
  loop.stop();
}

TEST(ControlLoop, OneThatNeverStartedStopsToo) {
  ControlLoop loop;
  loop.stop();
}

}  // namespace
}  // namespace aqua::runtime
