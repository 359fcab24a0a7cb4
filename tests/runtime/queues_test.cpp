// The runtime's small machines: queues of tasks, the control loop, and what stands behind a
// Reclaim.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "device/contract.hpp"
#include "runtime/callback_queue.hpp"
#include "runtime/control_loop.hpp"
#include "runtime/reclaim_state.hpp"
#include "runtime/serial_queue.hpp"

namespace aqua::runtime {
namespace {

using device::fails_with;
using device::succeeds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{10};

// Something that happens once, and can be waited for.
class Signal {
 public:
  void set() { promise_.set_value(); }
  [[nodiscard]] bool wait() const { return future_.wait_for(kPatience) == std::future_status::ready; }

 private:
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
};

TEST(SerialQueue, RunsTasksInOrderOnOneThreadOfItsOwn) {
  SerialQueue queue;
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  Signal done;
  for (int i = 0; i < 100; ++i) {
    queue.post([&, i] {
      order.push_back(i);
      threads.push_back(std::this_thread::get_id());
    });
  }
  queue.post([&] { done.set(); });
  ASSERT_TRUE(done.wait());
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(threads[static_cast<std::size_t>(i)], threads[0]);
  }
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(SerialQueue, TasksMayPostTasks) {
  SerialQueue queue;
  Signal done;
  queue.post([&] { queue.post([&] { done.set(); }); });
  EXPECT_TRUE(done.wait());
}

// Whether stop() has been called: the queue lets go of a task that it will never run.
bool is_stopping(SerialQueue& queue) {
  auto token = std::make_shared<int>();
  const std::weak_ptr<int> kept = token;
  queue.post([token = std::move(token)] {});
  return kept.expired();
}

TEST(SerialQueue, StopWaitsForTheTaskInProgressAndDropsTheOthers) {
  SerialQueue queue;
  Signal begun;
  std::atomic<bool> ended{false};
  std::atomic<bool> others_ran{false};
  queue.post([&] {
    queue.post([&] { others_ran = true; });
    begun.set();
    while (!is_stopping(queue)) std::this_thread::yield();
    ended = true;
  });
  ASSERT_TRUE(begun.wait());
  queue.stop();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(others_ran);
}

TEST(SerialQueue, NothingRunsOnceStopped) {
  SerialQueue queue;
  queue.stop();
  queue.post([] { ADD_FAILURE(); });
  queue.stop();
}

TEST(SerialQueue, TakesPostsFromManyThreads) {
  std::atomic<int> ran{0};
  Signal done;
  SerialQueue queue;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 250; ++k) {
        queue.post([&] {
          if (++ran == 1000) done.set();
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(done.wait());
}

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
  Signal begun;
  std::atomic<bool> ended{false};
  loop.start([&](Clock::time_point) {
    begun.set();
    std::this_thread::yield();
    ended = true;
    return Clock::time_point::max();
  });
  ASSERT_TRUE(begun.wait());
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

TEST(CallbackQueue, InTickCallbacksRunOnTheCallersThreadInOrder) {
  CallbackQueue queue(true);
  const auto caller = std::this_thread::get_id();
  std::vector<int> order;
  queue.tick();
  for (int i = 0; i < 3; ++i) {
    queue.post([&, i] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      order.push_back(i);
    });
  }
  EXPECT_TRUE(order.empty());
  queue.tick();
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
  queue.tick();
  EXPECT_EQ(order.size(), 3U);
  queue.stop();
}

TEST(CallbackQueue, ACallbackMayPostForTheNextTick) {
  CallbackQueue queue(true);
  int ran = 0;
  queue.post([&] {
    ++ran;
    queue.post([&] { ++ran; });
  });
  queue.tick();
  EXPECT_EQ(ran, 1);
  queue.tick();
  EXPECT_EQ(ran, 2);
}

TEST(CallbackQueue, TicksLoseNothingThatOtherThreadsPost) {
  CallbackQueue queue(true);
  int ran = 0;  // by tick() only
  std::thread poster([&] {
    for (int i = 0; i < 1000; ++i) queue.post([&] { ++ran; });
  });
  const auto deadline = Clock::now() + kPatience;
  while (ran < 1000 && Clock::now() < deadline) queue.tick();
  poster.join();
  EXPECT_EQ(ran, 1000);
}

TEST(CallbackQueue, OtherwiseCallbacksRunOnAThreadOfItsOwn) {
  CallbackQueue queue(false);
  Signal done;
  std::thread::id where;
  queue.post([&] {
    where = std::this_thread::get_id();
    done.set();
  });
  ASSERT_TRUE(done.wait());
  EXPECT_NE(where, std::this_thread::get_id());
  queue.tick();
  queue.stop();
  queue.post([] { ADD_FAILURE(); });
}

class Reclaiming : public testing::Test {
 protected:
  const Clock::time_point start_ = Clock::now();
  ReclaimState state_{3000, start_, start_ + seconds(1)};
  static Holder holder(std::uint32_t slab) {
    Holder holder;
    holder.slab = slab;
    holder.name = "engine";
    holder.pid = 77;
    return holder;
  }
};

TEST_F(Reclaiming, IsDoneWithTheLastByteThatIsWanted) {
  state_.credit(1000, start_ + milliseconds(5));
  EXPECT_FALSE(state_.done());
  EXPECT_EQ(state_.missing_bytes(), 2000U);
  state_.credit(1000, start_ + milliseconds(8));
  state_.credit(1000, start_ + milliseconds(20));
  EXPECT_TRUE(state_.done());
  EXPECT_EQ(state_.missing_bytes(), 0U);
  const auto progress = state_.wait();
  ASSERT_TRUE(succeeds(progress));
  EXPECT_EQ(progress->bytes_returned, 3000U);
  EXPECT_EQ(progress->slabs_returned, 3U);
  EXPECT_EQ(progress->first_slab, milliseconds(5));
  EXPECT_EQ(progress->last_slab, milliseconds(20));
}

TEST_F(Reclaiming, MoreThanWasWantedIsStillDone) {
  state_.credit(4000, start_);
  EXPECT_TRUE(state_.done());
  EXPECT_EQ(state_.missing_bytes(), 0U);
}

TEST_F(Reclaiming, WantsNoMoreThanWasLent) {
  state_.credit(1000, start_);
  state_.limit_wanted(2000);
  EXPECT_FALSE(state_.done());
  EXPECT_EQ(state_.missing_bytes(), 1000U);
  state_.limit_wanted(5000);
  EXPECT_EQ(state_.missing_bytes(), 1000U) << "a limit never raises it";
  state_.credit(1000, start_);
  EXPECT_TRUE(state_.done());
}

TEST_F(Reclaiming, OfNothingIsDoneAtOnce) {
  state_.limit_wanted(0);
  EXPECT_TRUE(succeeds(state_.wait()));
}

TEST_F(Reclaiming, EndsPartiallyAtItsDeadlineAndNamesTheHolders) {
  state_.credit(1000, start_);
  state_.finish({holder(5), holder(6)});
  EXPECT_TRUE(state_.done());
  const auto result = state_.wait();
  ASSERT_TRUE(fails_with(Code::deadline_exceeded, result));
  for (const char* part : {"1000", "3000", "slab 5", "slab 6", "engine", "77"}) {
    EXPECT_NE(result.error().message.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(state_.progress().holders.size(), 2U);
}

TEST_F(Reclaiming, LateReturnsStillCount) {
  state_.finish({holder(5)});
  state_.credit(3000, start_ + seconds(2));
  EXPECT_TRUE(succeeds(state_.wait()));
  EXPECT_TRUE(state_.progress().holders.empty());
}

TEST_F(Reclaiming, WakesWhoWaits) {
  auto waiting = std::async(std::launch::async, [this] { return state_.wait().ok(); });
  state_.credit(1000, start_);
  state_.credit(2000, start_);
  EXPECT_TRUE(waiting.get());
}

TEST_F(Reclaiming, AHandleThatWatchesNothingSaysSo) {
  const Reclaim none;
  EXPECT_CODE(Code::failed_precondition, none.wait());
  EXPECT_FALSE(none.progress().done);
}

}  // namespace
}  // namespace aqua::runtime
