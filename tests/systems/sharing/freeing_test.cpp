// SPDX-License-Identifier: Apache-2.0
// What the keeper answers while memory that it has let go of is being freed. The keeper is this
// process's; whoever publishes and reads is another one.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "aqua/sharing/models.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/keeper/nothing_is_freed.hpp"
#include "tests/keeper/peer_program.hpp"
#include "tests/systems/sharing/small_runtime.hpp"
#include "tools/keeper/keeper.hpp"

namespace aqua::sharing {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSmallModel = std::uint64_t{4} << 20;  // bytes, in two slabs

class FreedWeights : public ::testing::Test {
 protected:
  void start(std::size_t most_slabs) {
    keeper_ = keeper::Keeper::start({.socket = socket_, .most_slabs = most_slabs}).value();
  }
  [[nodiscard]] std::uint64_t being_freed() const { return bytes_being_freed(socket_).value(); }
  [[nodiscard]] std::uint64_t left_after_a_minute() const {
    return bytes_being_freed(socket_, 60s).value();
  }

  const testing::TempDir directory_;
  const std::string socket_ = directory_ / "keeper.sock";
  std::unique_ptr<keeper::Keeper> keeper_;
};

TEST_F(FreedWeights, HoldNobodyUpAndAreToldUntilTheyAreGone) {
  start(64);
  test::PeerProgram engine(socket_);
  ASSERT_EQ(engine.ask("publish 1 7"), "ok");
  {
    const test::NothingIsFreed stands;
    ASSERT_TRUE(retire_model("small", "1", socket_).ok());
    ASSERT_TRUE(stands.stand(std::thread::hardware_concurrency() > 1 ? 2 : 1))
        << "both slabs at the same time";
    EXPECT_TRUE(list_models(socket_)->empty());
    EXPECT_EQ(being_freed(), kSmallModel);
    EXPECT_EQ(engine.ask("publish 2 8"), "ok");
    EXPECT_EQ(engine.ask("attach -"), "2");
    EXPECT_EQ(engine.ask("check 8"), "ok");
    EXPECT_EQ(being_freed(), kSmallModel) << "all the while";
    EXPECT_EQ(bytes_being_freed(socket_, 1ms).value(), kSmallModel) << "patience comes to its end";
  }
  EXPECT_EQ(left_after_a_minute(), 0U);
}

TEST_F(FreedWeights, OfTheirLastReaderHoldNobodyUp) {
  start(64);
  test::PeerProgram engine(socket_), reader(socket_);
  ASSERT_EQ(engine.ask("publish 1 7"), "ok");
  ASSERT_EQ(reader.ask("attach -"), "1");
  ASSERT_EQ(engine.ask("publish 2 8"), "ok");
  {
    const test::NothingIsFreed stands;
    EXPECT_EQ(reader.ask("suspend"), "ok");
    ASSERT_TRUE(stands.stand(1));
    EXPECT_EQ(being_freed(), kSmallModel);
    EXPECT_EQ(reader.ask("resume"), "ok") << "with the newer version";
    EXPECT_EQ(reader.ask("check 8"), "ok");
  }
  EXPECT_EQ(left_after_a_minute(), 0U);
}

TEST_F(FreedWeights, LeaveNoRoomBeforeTheyAreGone) {
  start(2);
  test::PeerProgram engine(socket_);
  ASSERT_EQ(engine.ask("publish 1 7"), "ok");
  {
    const test::NothingIsFreed stands;
    ASSERT_TRUE(retire_model("small", "1", socket_).ok());
    const std::string refused = engine.ask("publish 2 8");
    EXPECT_EQ(refused.substr(0, 18), "resource_exhausted");
    EXPECT_NE(refused.find("2 slabs of at most 2, 2 of them being freed"), std::string::npos)
        << refused;
  }
  EXPECT_EQ(left_after_a_minute(), 0U);
  EXPECT_EQ(engine.ask("publish 2 8"), "ok");
}

}  // namespace
}  // namespace aqua::sharing
