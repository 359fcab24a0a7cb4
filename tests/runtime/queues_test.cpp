// SPDX-License-Identifier: Apache-2.0
// Queues of tasks: calls on a thread of their own, callbacks in the engine's tick.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/queues/callback_queue.hpp"
#include "runtime/queues/serial_queue.hpp"
#include "tests/runtime/signal.hpp"

namespace aqua::runtime {
namespace {

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

TEST(CallbackQueue, ATickFromAnotherThreadOrFromWithinRunsNothingMeanwhile) {
  CallbackQueue queue(true);
  std::vector<int> order;
  queue.post([&] {
    queue.post([&] { order.push_back(2); });
    queue.tick();
    std::thread([&] { queue.tick(); }).join();
    order.push_back(1);
  });
  queue.tick();
  EXPECT_EQ(order, (std::vector{1}));
  queue.tick();
  EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST(CallbackQueue, TicksLoseNothingThatOtherThreadsPost) {
  CallbackQueue queue(true);
  int ran = 0;  // by tick() only
  std::thread poster([&] {
    for (int i = 0; i < 1000; ++i) queue.post([&] { ++ran; });
  });
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (ran < 1000 && std::chrono::steady_clock::now() < deadline) queue.tick();
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

}  // namespace
}  // namespace aqua::runtime
