// SPDX-License-Identifier: Apache-2.0
// Streams of an emulated GPU that wait for each other.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "tests/base/open_emulated.hpp"

namespace aqua {
namespace {

class EmulatedStreams : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime_ = test::open_emulated(16 << 20, 2 << 20);
    for (Stream& stream : streams_) stream = emulated::create_stream(*runtime_).value();
  }
  void TearDown() override {
    for (const Stream stream : streams_) {
      EXPECT_TRUE(emulated::destroy_stream(*runtime_, stream).ok());
    }
  }

  std::optional<Runtime> runtime_;
  Stream streams_[2];
};

TEST_F(EmulatedStreams, WorkRunsAfterWhatWasPostedToTheOtherBefore) {
  const auto [later, earlier] = std::pair(streams_[0], streams_[1]);
  std::promise<void> gate;
  std::atomic<bool> first_ran{false}, in_order{false};
  ASSERT_TRUE(emulated::launch(*runtime_, earlier, [&, open = gate.get_future().share()] {
                open.wait();
                first_ran = true;
              }).ok());
  ASSERT_TRUE(emulated::run_after(*runtime_, later, earlier).ok());
  ASSERT_TRUE(emulated::launch(*runtime_, later, [&] { in_order = first_ran.load(); }).ok());
  gate.set_value();
  ASSERT_TRUE(emulated::synchronize(*runtime_, later).ok());
  EXPECT_TRUE(in_order);
}

TEST_F(EmulatedStreams, WhatIsPostedAfterwardsIsNotWaitedFor) {
  const auto [later, earlier] = std::pair(streams_[0], streams_[1]);
  ASSERT_TRUE(emulated::run_after(*runtime_, later, earlier).ok());
  std::promise<void> gate;
  ASSERT_TRUE(emulated::launch(*runtime_, earlier, [open = gate.get_future().share()] {
                open.wait();
              }).ok());
  // Would never return if it waited.
  EXPECT_TRUE(emulated::synchronize(*runtime_, later).ok());
  gate.set_value();
}

TEST_F(EmulatedStreams, AStreamThatIsNoneIsRefused) {
  const Stream none{0xdead};
  EXPECT_EQ(emulated::run_after(*runtime_, none, streams_[0]).error().code, Code::invalid_argument);
  EXPECT_EQ(emulated::run_after(*runtime_, streams_[0], none).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace aqua
