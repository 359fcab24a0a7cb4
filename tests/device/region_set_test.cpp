// SPDX-License-Identifier: Apache-2.0
#include "device/region_set.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace aqua::device {
namespace {

class Regions : public ::testing::Test {
 protected:
  const std::byte* at(std::size_t i) const { return ground_.data() + i; }
  std::array<std::byte, 64> ground_{};
  RegionSet set_;
};

TEST_F(Regions, AnEmptySetTouchesNothingAndCoversOnlyNothing) {
  EXPECT_FALSE(set_.touches(at(0), 64));
  EXPECT_FALSE(set_.covers(at(0), 1));
  EXPECT_TRUE(set_.covers(at(0), 0));
}

TEST_F(Regions, NeighboursCoverWhatSpansThem) {
  set_.add(at(8), 8);
  set_.add(at(16), 8);
  EXPECT_TRUE(set_.covers(at(9), 14));
  EXPECT_FALSE(set_.covers(at(9), 16));
  EXPECT_FALSE(set_.touches(at(0), 8));
  EXPECT_TRUE(set_.touches(at(0), 9));
  EXPECT_FALSE(set_.touches(at(24), 8));
}

TEST_F(Regions, NeighboursAreOneRunWhicheverCameFirst) {
  set_.add(at(16), 8);
  set_.add(at(8), 8);
  set_.add(at(24), 8);
  const auto run = set_.around(at(20));
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->first, reinterpret_cast<std::uintptr_t>(at(8)));
  EXPECT_EQ(run->second, reinterpret_cast<std::uintptr_t>(at(32)));
  EXPECT_FALSE(set_.around(at(7)).has_value());
  EXPECT_FALSE(set_.around(at(32)).has_value());
}

TEST_F(Regions, RemovingTheMiddleLeavesBothEnds) {
  set_.add(at(0), 30);
  set_.remove(at(10), 10);
  EXPECT_TRUE(set_.covers(at(0), 10));
  EXPECT_FALSE(set_.touches(at(10), 10));
  EXPECT_TRUE(set_.covers(at(20), 10));
}

TEST_F(Regions, AgreesWithAByteByByteModel) {
  std::array<bool, 64> model{};
  std::mt19937 random(1);
  for (int step = 0; step < 5'000; ++step) {
    const std::size_t begin = random() % 64;
    const std::size_t bytes = random() % (65 - begin);
    const bool add = random() % 2 == 0;
    add ? set_.add(at(begin), bytes) : set_.remove(at(begin), bytes);
    for (std::size_t i = begin; i < begin + bytes; ++i) model[i] = add;
    const std::size_t from = random() % 64;
    const std::size_t length = random() % (65 - from);
    std::size_t inside = 0;
    for (std::size_t i = from; i < from + length; ++i) inside += model[i] ? 1U : 0U;
    ASSERT_EQ(set_.touches(at(from), length), inside > 0) << step;
    ASSERT_EQ(set_.covers(at(from), length), inside == length) << step;
  }
}

}  // namespace
}  // namespace aqua::device
