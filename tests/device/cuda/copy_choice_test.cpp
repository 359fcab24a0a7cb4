// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/copy_choice.hpp"

#include <gtest/gtest.h>

namespace aqua::device {
namespace {

CopyMethod choose(std::size_t runs, std::uint64_t run_bytes, bool batched, bool kernel) {
  return choose_method(
      {.runs = runs, .bytes = runs * run_bytes, .batched = batched, .kernel = kernel});
}

TEST(CopyChoice, AFewRunsGoEachByItself) {
  EXPECT_EQ(choose(1, 1, true, true), CopyMethod::each);
  EXPECT_EQ(choose(8, 16 << 10, true, true), CopyMethod::each);
}

TEST(CopyChoice, ManySmallRunsAreAKernelsAndManyLargeOnesABatch) {
  EXPECT_EQ(choose(1'000, 16 << 10, true, true), CopyMethod::kernel);
  EXPECT_EQ(choose(1'000, 64 << 10, true, true), CopyMethod::batched);
}

TEST(CopyChoice, WhatIsMissingIsNotChosen) {
  EXPECT_EQ(choose(1'000, 16 << 10, true, false), CopyMethod::batched);
  EXPECT_EQ(choose(1'000, 16 << 10, false, false), CopyMethod::each);
  EXPECT_EQ(choose(1'000, 1 << 20, false, true), CopyMethod::each);
}

}  // namespace
}  // namespace aqua::device
