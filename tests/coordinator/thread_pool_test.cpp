#include "coordinator/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <thread>

namespace aqua::coordinator {
namespace {

constexpr std::chrono::milliseconds kIdle{10000};

TEST(ThreadPool, JobsThatWaitDoNotHoldUpOthers) {
  constexpr int kWaiting = 50;
  std::promise<void> release;
  const auto released = release.get_future().share();
  std::latch all_wait(kWaiting);
  ThreadPool pool(kWaiting + 1, 100, kIdle);
  for (int i = 0; i < kWaiting; ++i) {
    ASSERT_TRUE(pool.run([&] {
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

TEST(ThreadPool, BeyondTheThreadsJobsWaitAndBeyondThatTheyAreRefused) {
  std::promise<void> release;
  std::promise<void> busy;
  const auto released = release.get_future().share();
  std::atomic<int> done{0};
  {
    ThreadPool pool(1, 2, kIdle);
    ASSERT_TRUE(pool.run([&] {
      busy.set_value();
      released.wait();
      ++done;
    }));
    busy.get_future().wait();
    int accepted = 0;
    while (pool.run([&] { ++done; })) ++accepted;
    EXPECT_GE(accepted, 2);
    EXPECT_LE(accepted, 3);
    release.set_value();
    EXPECT_LE(accepted + 1, 4);
  }
  EXPECT_GE(done, 3);  // the destructor waits for every job
}

TEST(ThreadPool, IdleThreadsEndAndOthersTakeTheirPlace) {
  ThreadPool pool(2, 10, std::chrono::milliseconds{1});
  for (int i = 0; i < 20; ++i) {
    std::promise<std::thread::id> ran;
    ASSERT_TRUE(pool.run([&] { ran.set_value(std::this_thread::get_id()); }));
    ran.get_future().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds{i % 4});  // sometimes past the idle time
  }
}

}  // namespace
}  // namespace aqua::coordinator
