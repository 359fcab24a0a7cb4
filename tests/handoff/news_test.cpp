// SPDX-License-Identifier: Apache-2.0
#include "handoff/news.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace aqua {
namespace {

TEST(News, AreWaitedForHoweverLongThePatience) {
  News news;
  for (int round = 0; round < 20; ++round) {
    const std::jthread teller([&] { news.tell(); });
    EXPECT_TRUE(news.wait(std::chrono::milliseconds::max())) << round;
  }
}

}  // namespace
}  // namespace aqua
