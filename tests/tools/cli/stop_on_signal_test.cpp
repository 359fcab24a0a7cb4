// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/stop_on_signal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>

namespace aqua::tool {
namespace {

void await_stop(const StopOnSignal& signals) {
  std::atomic<bool> stopped{false};
  const std::stop_callback<std::function<void()>> told(signals.token(), [&] {
    stopped = true;
    stopped.notify_all();
  });
  stopped.wait(false);
}

TEST(StopOnSignal, TheFirstAsksForAStop) {
  const StopOnSignal signals;
  EXPECT_FALSE(signals.token().stop_requested());
  ::kill(::getpid(), SIGINT);
  await_stop(signals);
}

TEST(StopOnSignal, WithoutASignalJustGoes) {
  for (int i = 0; i < 100; ++i) const StopOnSignal signals;
}

TEST(StopOnSignalDeathTest, TheSecondEndsAtOnce) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const int number : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          const StopOnSignal signals;
          ::kill(::getpid(), SIGINT);
          await_stop(signals);
          ::kill(::getpid(), number);
          for (;;) ::pause();  // whatever is being done, however long it takes
        },
        ::testing::KilledBySignal(number), "");
  }
}

}  // namespace
}  // namespace aqua::tool
