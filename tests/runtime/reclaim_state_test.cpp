// SPDX-License-Identifier: Apache-2.0
// What stands behind a Reclaim: progress, the deadline, and late returns.
#include "runtime/lend/reclaim_state.hpp"

#include <gtest/gtest.h>

#include <future>

#include "tests/device/contract.hpp"

namespace aqua {
namespace {

using device::fails_with;
using device::succeeds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Reclaiming : public ::testing::Test {
 protected:
  const ReclaimState::TimePoint start_ = std::chrono::steady_clock::now();
  ReclaimState state_{3000, start_, start_ + seconds(1)};
  static Holder holder(std::uint32_t slab) {
    Holder holder;
    holder.slab = slab;
    holder.name = "engine";
    holder.pid = 77;
    return holder;
  }
};

TEST_F(Reclaiming, IsDoneWithTheLastByteThatIsWanted) {
  state_.credit(1000, start_ + milliseconds(5));
  EXPECT_FALSE(state_.done());
  EXPECT_EQ(state_.missing_bytes(), 2000U);
  state_.credit(1000, start_ + milliseconds(8));
  state_.credit(1000, start_ + milliseconds(20));
  EXPECT_TRUE(state_.done());
  EXPECT_EQ(state_.missing_bytes(), 0U);
  const auto progress = state_.wait();
  ASSERT_TRUE(succeeds(progress));
  EXPECT_EQ(progress->bytes_returned, 3000U);
  EXPECT_EQ(progress->slabs_returned, 3U);
  EXPECT_EQ(progress->first_slab, milliseconds(5));
  EXPECT_EQ(progress->last_slab, milliseconds(20));
}

TEST_F(Reclaiming, MoreThanWasWantedIsStillDone) {
  state_.credit(4000, start_);
  EXPECT_TRUE(state_.done());
  EXPECT_EQ(state_.missing_bytes(), 0U);
}

TEST_F(Reclaiming, WantsNoMoreThanWasLent) {
  state_.credit(1000, start_);
  state_.limit_wanted(2000);
  EXPECT_FALSE(state_.done());
  EXPECT_EQ(state_.missing_bytes(), 1000U);
  state_.limit_wanted(5000);
  EXPECT_EQ(state_.missing_bytes(), 1000U) << "a limit never raises it";
  state_.credit(1000, start_);
  EXPECT_TRUE(state_.done());
}

TEST_F(Reclaiming, OfNothingIsDoneAtOnce) {
  state_.limit_wanted(0);
  EXPECT_TRUE(succeeds(state_.wait()));
}

TEST_F(Reclaiming, EndsPartiallyAtItsDeadlineAndNamesTheHolders) {
  state_.credit(1000, start_);
  state_.finish({holder(5), holder(6)});
  EXPECT_TRUE(state_.done());
  const auto result = state_.wait();
  ASSERT_TRUE(fails_with(Code::deadline_exceeded, result));
  for (const char* part : {"1000", "3000", "slab 5", "slab 6", "engine", "77"}) {
    EXPECT_NE(result.error().message.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(state_.progress().holders.size(), 2U);
}

TEST_F(Reclaiming, LateReturnsStillCount) {
  state_.finish({holder(5)});
  state_.credit(3000, start_ + seconds(2));
  EXPECT_TRUE(succeeds(state_.wait()));
  EXPECT_TRUE(state_.progress().holders.empty());
}

TEST_F(Reclaiming, WakesWhoWaits) {
  auto waiting = std::async(std::launch::async, [this] { return state_.wait().ok(); });
  state_.credit(1000, start_);
  state_.credit(2000, start_);
  EXPECT_TRUE(waiting.get());
}

TEST_F(Reclaiming, AHandleThatWatchesNothingSaysSo) {
  const Reclaim none;
  EXPECT_CODE(Code::failed_precondition, none.wait());
  EXPECT_FALSE(none.progress().done);
}

}  // namespace
}  // namespace aqua
