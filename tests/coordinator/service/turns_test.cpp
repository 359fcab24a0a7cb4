// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace aqua::coordinator {
namespace {

TEST(Turns, EveryPieceOfWorkIsDoneOnceAndNeverTwoAtOneTime) {
  constexpr int kThreads = 8;
  constexpr int kPieces = 5000;
  Turns<int> turns;
  std::atomic<bool> busy{false};
  std::size_t most = 0;  // at one go
  std::vector<std::thread> callers;
  for (int i = 0; i < kThreads; ++i) {
    callers.emplace_back([&] {
      for (int piece = 0; piece < kPieces; ++piece) {
        int done = 0;
        turns.take(done, [&](std::span<int* const> all) {
          EXPECT_FALSE(busy.exchange(true));
          most = std::max(most, all.size());
          for (int* each : all) ++*each;
          busy = false;
        });
        ASSERT_EQ(done, 1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(most, kThreads);
}

// Holds the first at its work until another has come, again and again until the two of a round
// have come early enough: what nobody outside can see.
TEST(Turns, WhoWaitsIsDoneTogether) {
  Turns<int> turns;
  std::size_t most = 0;
  for (int round = 0; round < 1000 && most < 2; ++round) {
    std::atomic<bool> at_work{false};
    std::atomic<int> coming{0};
    int first = 0;
    std::thread holder([&] {
      turns.take(first, [&](std::span<int* const>) {
        at_work = true;
        while (coming < 2) std::this_thread::yield();
        for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      });
    });
    while (!at_work) std::this_thread::yield();
    std::vector<std::thread> others;
    for (int i = 0; i < 2; ++i) {
      others.emplace_back([&] {
        int mine = 0;
        ++coming;
        turns.take(mine, [&](std::span<int* const> all) { most = std::max(most, all.size()); });
      });
    }
    holder.join();
    for (std::thread& other : others) other.join();
  }
  EXPECT_EQ(most, 2U);
}

}  // namespace
}  // namespace aqua::coordinator
