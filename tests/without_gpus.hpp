// SPDX-License-Identifier: Apache-2.0
// A test's body in a process that CUDA shows no GPU, so that it runs on every machine.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace aqua::test {

// Runs `body` in a fresh copy of this program (CUDA may have been started in this one already, and
// looks at the variable once). Its failures are the calling test's.
template <typename Body>
void without_gpus(Body body) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&] {
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    body();
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

}  // namespace aqua::test
