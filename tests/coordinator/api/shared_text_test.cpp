// SPDX-License-Identifier: Apache-2.0
#include "coordinator/api/shared_text.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace aqua::coordinator {
namespace {

// How many texts are made for `callers` who ask while one is made, whom no one else can see wait.
int made_for(int callers) {
  SharedText shared;
  std::atomic<int> made{0};
  std::atomic<int> asking{0};
  std::promise<void> begun;
  std::promise<void> release;
  std::thread first([&] {
    (void)shared.get([&] {
      begun.set_value();
      release.get_future().wait();
      return std::string("of before");
    });
  });
  begun.get_future().wait();
  std::vector<std::thread> others;
  for (int i = 0; i < callers; ++i) {
    others.emplace_back([&] {
      ++asking;
      EXPECT_NE(*shared.get([&] { return std::to_string(++made); }), "of before");
    });
  }
  while (asking < callers) std::this_thread::yield();
  release.set_value();
  first.join();
  for (std::thread& other : others) other.join();
  return made;
}

TEST(SharedText, IsMadeOnceForAllWhoAskWhileTheOneBeforeIsMade) {
  constexpr int kCallers = 8;
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    const int made = made_for(kCallers);
    ASSERT_GE(made, 1);
    if (made == 1) return;
  }
  FAIL() << "nobody shared one with all";
}

TEST(SharedText, ThatFoundNoMemoryIsToldToWhoAskedAndMadeAnewForTheNext) {
  SharedText shared;
  EXPECT_THROW((void)shared.get([]() -> std::string { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_EQ(*shared.get([] { return std::string("x"); }), "x");
}

}  // namespace
}  // namespace aqua::coordinator
