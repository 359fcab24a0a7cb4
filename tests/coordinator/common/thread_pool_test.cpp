// SPDX-License-Identifier: Apache-2.0
#include "coordinator/common/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <thread>

namespace aqua::coordinator {
namespace {

constexpr std::chrono::milliseconds kIdle{10000};
constexpr std::chrono::hours kNever{1};
constexpr std::chrono::seconds kPatience{60};

TEST(ThreadPool, JobsThatWaitDoNotHoldUpOthers) {
  constexpr int kWaiting = 50;
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::latch all_wait(kWaiting);
  ThreadPool pool({.threads = kWaiting + 1, .working = 1, .waiting = 100, .idle = kIdle});
  for (int i = 0; i < kWaiting; ++i) {
    ASSERT_TRUE(pool.run([&] {
      const ThreadPool::Blocking blocking;
      all_wait.count_down();
      released.wait();
    }));
  }
  all_wait.wait();
  std::promise<void> other;
  ASSERT_TRUE(pool.run([&] { other.set_value(); }));
  other.get_future().wait();
  release.set_value();
}

TEST(ThreadPool, NoMoreAreWorkedOnAtOneTimeThanMayBe) {
  constexpr int kJobs = 200;
  constexpr int kWorking = 3;
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  std::latch done(kJobs);
  ThreadPool pool(
      {.threads = 100, .working = kWorking, .waiting = kJobs, .idle = kIdle, .stuck = kNever});
  for (int i = 0; i < kJobs; ++i) {
    ASSERT_TRUE(pool.run([&] {
      const int working = ++now;
      int seen = most;
      while (working > seen && !most.compare_exchange_weak(seen, working)) continue;
      std::this_thread::yield();
      --now;
      done.count_down();
    }));
  }
  done.wait();
  EXPECT_LE(most, kWorking);
}

TEST(ThreadPool, AStuckJobHoldsUpOthersForAMomentOnly) {
  constexpr int kStuck = 3;
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::latch all_stuck(kStuck);
  std::atomic<bool> other{false};
  ThreadPool pool({.threads = kStuck + 1,
                   .working = 1,
                   .waiting = 100'000,
                   .idle = kIdle,
                   .stuck = std::chrono::milliseconds{1}});
  for (int i = 0; i < kStuck; ++i) {
    ASSERT_TRUE(pool.run([&] {
      all_stuck.count_down();
      released.wait();
    }));
  }
  while (!other) {  // each that arrives looks whether anything moves
    ASSERT_TRUE(pool.run([&] { other = true; }));
    std::this_thread::yield();
  }
  all_stuck.wait();
  release.set_value();
}

TEST(ThreadPool, AJobThatBeginsToWaitLetsTheNextOneWork) {
  std::promise<void> second;
  std::promise<void> first;
  ThreadPool pool({.threads = 2, .working = 1, .waiting = 10, .idle = kIdle});
  ASSERT_TRUE(pool.run([&] {
    const ThreadPool::Blocking blocking;
    second.get_future().wait();  // which needs this one out of its way
    first.set_value();
  }));
  ASSERT_TRUE(pool.run([&] { second.set_value(); }));
  first.get_future().wait();
}

TEST(ThreadPool, AJobThatSaysTwiceThatItWaitsIsCountedOnce) {
  std::promise<void> waits;
  std::promise<void> second;
  std::promise<std::future_status> first;
  ThreadPool pool({.threads = 2, .working = 1, .waiting = 10, .idle = kIdle, .stuck = kNever});
  ASSERT_TRUE(pool.run([&] {
    const ThreadPool::Blocking blocking;
    const ThreadPool::Blocking within;
    waits.set_value();
    first.set_value(second.get_future().wait_for(kPatience));
  }));
  waits.get_future().wait();
  ASSERT_TRUE(pool.run([&] { second.set_value(); }));
  EXPECT_EQ(first.get_future().get(), std::future_status::ready);
}

TEST(ThreadPool, BeyondTheThreadsJobsWaitAndBeyondThatTheyAreRefused) {
  std::promise<void> release;
  std::promise<void> busy;
  const auto released = release.get_future().share();
  std::atomic<int> done{0};
  int accepted = 0;
  {
    ThreadPool pool({.threads = 1, .working = 1, .waiting = 2, .idle = kIdle, .stuck = kNever});
    ASSERT_TRUE(pool.run([&] {
      busy.set_value();
      released.wait();
      ++done;
    }));
    busy.get_future().wait();
    while (pool.run([&] { ++done; })) ++accepted;
    EXPECT_GE(accepted, 2);
    EXPECT_LE(accepted, 3);
    release.set_value();
  }
  EXPECT_EQ(done, accepted + 1) << "the destructor waits for every job";
}

TEST(ThreadPool, AJobThatGoesAheadWaitsForNoOtherAndNoOtherTakesItsThread) {
  constexpr int kSlow = 4;
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::atomic<int> begun{0};
  std::latch all_begun(2);
  ThreadPool pool({.threads = 2,
                   .working = 1,
                   .waiting = kSlow,
                   .reserved = 1,
                   .idle = kIdle,
                   .stuck = kNever});
  for (int i = 0; i < kSlow; ++i) {
    ASSERT_TRUE(pool.run([&] {
      const ThreadPool::Blocking blocking;
      if (++begun <= 2) all_begun.count_down();
      released.wait();
    }));
  }
  all_begun.wait();
  for (int i = 0; i < 3; ++i) {
    std::promise<void> ran;
    ASSERT_TRUE(pool.run([&] { ran.set_value(); }, ThreadPool::Turn::ahead));
    ran.get_future().wait();
    EXPECT_EQ(begun, 2);
  }
  release.set_value();
}

TEST(ThreadPool, IdleThreadsEndAndOthersTakeTheirPlace) {
  ThreadPool pool(
      {.threads = 2, .working = 2, .waiting = 10, .idle = std::chrono::milliseconds{1}});
  for (int i = 0; i < 20; ++i) {
    std::promise<std::thread::id> ran;
    ASSERT_TRUE(pool.run([&] { ran.set_value(std::this_thread::get_id()); }));
    ran.get_future().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds{i % 4});  // sometimes past the idle time
  }
}

}  // namespace
}  // namespace aqua::coordinator
