// SPDX-License-Identifier: Apache-2.0
// Engines that wait for weights which another process is publishing.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <semaphore>
#include <string_view>

#include "aqua/published_memory.hpp"
#include "aqua/runtime.hpp"
#include "aqua/sharing/models.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "aqua/sharing/weights_publisher.hpp"
#include "base/step.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/sharing/small_model.hpp"
#include "tests/systems/sharing/small_runtime.hpp"

namespace aqua::sharing {
namespace {

constexpr std::chrono::hours kForEver{1};
constexpr std::chrono::minutes kLong{1};  // for a test to fail

class AwaitedWeights : public ::testing::Test {
 protected:
  AwaitedWeights() {
    while (waits_.try_acquire()) {
    }
    step_hook = [](const char* name) {
      if (name == std::string_view("wait")) waits_.release();
    };
  }
  ~AwaitedWeights() override { step_hook = nullptr; }

  WeightsPublisher begin(const Manifest& manifest) {
    auto publisher = WeightsPublisher::begin(loader_, manifest, keeper_.socket()).value();
    EXPECT_TRUE(fill(publisher, manifest, 7).ok());
    return publisher;
  }
  void publish(const Manifest& manifest) { ASSERT_TRUE(begin(manifest).commit().ok()); }
  // What attach() comes to, once it waits.
  std::future<Code> waiting(WeightsOptions options = {}) {
    auto attached = std::async(std::launch::async, [this, options] { return attach(options); });
    EXPECT_TRUE(waits_.try_acquire_for(kLong));
    return attached;
  }
  // Code::internal stands for none.
  Code attach(WeightsOptions options) {
    options.model = "small";
    options.keeper = keeper_.socket();
    if (options.patience.count() == 0) options.patience = kForEver;
    const auto weights = SharedWeights::attach(engine_, options);
    message_ = weights.ok() ? "" : weights.error().message;
    return weights.ok() ? Code::internal : weights.error().code;
  }

  static inline std::counting_semaphore<> waits_{0};
  test::KeeperProcess keeper_;
  Runtime loader_ = open_small("emu:0");
  Runtime engine_ = open_small("emu:0");
  std::string message_;
};

TEST_F(AwaitedWeights, ComeWithTheirCommit) {
  WeightsPublisher publisher = begin(small_model("1"));
  auto attached = waiting();
  ASSERT_TRUE(publisher.commit().ok());
  EXPECT_EQ(attached.get(), Code::internal) << message_;
}

TEST_F(AwaitedWeights, AreGivenUpWhenTheirPublisherGoes) {
  std::optional<WeightsPublisher> publisher = begin(small_model("1"));
  auto attached = waiting();
  publisher.reset();
  EXPECT_EQ(attached.get(), Code::not_found) << message_;
}

TEST_F(AwaitedWeights, AreWaitedForAgainWhenSomethingElseHasCome) {
  WeightsPublisher publisher = begin(small_model("1"));
  auto attached = waiting();
  Manifest other = small_model("1");
  other.model = "other";
  publish(other);
  EXPECT_TRUE(waits_.try_acquire_for(kLong));
  ASSERT_TRUE(publisher.commit().ok());
  EXPECT_EQ(attached.get(), Code::internal) << message_;
}

TEST_F(AwaitedWeights, OfTwoShardsComeWithTheOtherOne) {
  publish(small_model("1", 0, 2));
  auto attached = waiting({.shard = 0, .shards = 2});
  publish(small_model("1", 1, 2));
  EXPECT_EQ(attached.get(), Code::internal) << message_;
}

TEST_F(AwaitedWeights, ThatAreSupersededOrRetiredAreNotWaitedFor) {
  publish(small_model("1", 0, 2));
  auto attached = waiting({.version = "1", .shard = 0, .shards = 2});
  publish(small_model("2"));
  EXPECT_EQ(attached.get(), Code::not_found) << message_;
  publish(small_model("3", 0, 2));
  attached = waiting({.version = "3", .shard = 0, .shards = 2});
  ASSERT_TRUE(retire_model("small", "3", keeper_.socket()).ok());
  EXPECT_EQ(attached.get(), Code::not_found) << message_;
}

TEST_F(AwaitedWeights, ThatAreDroppedAreNotWaitedFor) {
  publish(small_model("1", 0, 2));
  Runtime host = open_small("host");
  auto spare = WeightsPublisher::begin(host, small_model("1", 0, 2), keeper_.socket()).value();
  ASSERT_TRUE(fill(spare, small_model("1", 0, 2), 7).ok());
  ASSERT_TRUE(spare.commit().ok());
  auto attached = waiting({.shard = 0, .shards = 2});
  ASSERT_TRUE(
      drop_copies("small", "1", PublishedMemory::device_of(loader_), keeper_.socket()).ok());
  EXPECT_EQ(attached.get(), Code::not_found) << message_;
}

TEST_F(AwaitedWeights, OfAKeeperThatDiesAreNotWaitedFor) {
  const WeightsPublisher publisher = begin(small_model("1"));
  auto attached = waiting();
  keeper_.kill();
  EXPECT_EQ(attached.get(), Code::unavailable) << message_;
}

TEST_F(AwaitedWeights, ThatDoNotComeInTimeAreSaidToBePublishedStill) {
  const WeightsPublisher publisher = begin(small_model("1"));
  EXPECT_EQ(attach({.patience = std::chrono::milliseconds(1)}), Code::deadline_exceeded);
  EXPECT_NE(message_.find("small lacks shards, or is still being published"), std::string::npos)
      << message_;
}

// Whoever finds nothing publishes it: two shards' publishers must not wait for each other.
TEST_F(AwaitedWeights, AreNotWaitedForWhereNobodyPublishesThem) {
  EXPECT_EQ(attach({}), Code::not_found);
  const WeightsPublisher other_shard = begin(small_model("1", 1, 2));
  EXPECT_EQ(attach({.shard = 0, .shards = 2}), Code::not_found);
  EXPECT_EQ(attach({.shard = 1, .shards = 3}), Code::not_found);
  Runtime elsewhere = open_small("emu:1");
  EXPECT_EQ(SharedWeights::attach(elsewhere, {.model = "small",
                                              .shard = 1,
                                              .shards = 2,
                                              .keeper = keeper_.socket(),
                                              .patience = kForEver})
                .error()
                .code,
            Code::not_found);
}

}  // namespace
}  // namespace aqua::sharing
