// SPDX-License-Identifier: Apache-2.0
// Weights that are published, attached, suspended and superseded, over a real keeper.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "aqua/runtime.hpp"
#include "aqua/sharing/models.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "aqua/sharing/weights_publisher.hpp"
#include "tests/base/forked_child.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/sharing/small_model.hpp"
#include "tests/systems/sharing/small_runtime.hpp"

namespace aqua::sharing {
namespace {

using namespace aqua::literals;

// Every byte of every tensor, where it is mapped.
bool holds(const SharedWeights& weights, std::uint64_t seed) {
  const Manifest& manifest = weights.manifest();
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (manifest.tensors[i].view_of) continue;
    const WeightTensor tensor = weights.tensor(i);
    const auto expected = small_bytes(tensor.bytes, seed, i);
    if (std::memcmp(tensor.address, expected.data(), expected.size()) != 0) return false;
  }
  return true;
}

class Weights : public ::testing::Test {
 protected:
  void publish(const Manifest& manifest, std::uint64_t seed) {
    auto publisher = WeightsPublisher::begin(loader_, manifest, keeper_.socket());
    ASSERT_TRUE(publisher.ok()) << publisher.error().message;
    ASSERT_TRUE(fill(*publisher, manifest, seed).ok());
    const auto committed = publisher->commit();
    ASSERT_TRUE(committed.ok()) << committed.error().message;
  }
  Result<SharedWeights> attach(WeightsOptions options) {
    options.model = "small";
    options.keeper = keeper_.socket();
    return SharedWeights::attach(engine_, options);
  }
  [[nodiscard]] std::vector<ModelStatus> models() { return list_models(keeper_.socket()).value(); }

  test::KeeperProcess keeper_;
  Runtime loader_ = open_small();
  Runtime engine_ = open_small();
};

TEST_F(Weights, AreAttachedByWhoeverComesWhenTheirPublisherHasGone) {
  publish(small_model("1"), 7);
  auto weights = attach({});
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(weights->manifest().version, "1");
  EXPECT_EQ(weights->protection(), WriteProtection::enforced);
  EXPECT_TRUE(holds(*weights, 7));
  EXPECT_TRUE(weights->verify().ok());
  const auto view = weights->find("k");
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->address, weights->find("qkv")->address + 256 * 4096);
  EXPECT_EQ(view->info->shape, (std::vector<std::uint64_t>{256, 2048}));
  EXPECT_EQ(view->type->name, "F16");
  expect_refused(weights->find("v"), Code::not_found, "no tensor 'v'");
}

TEST_F(Weights, LieInMemoryOnce) {
  publish(small_model("1"), 7);
  auto first = attach({});
  auto second = SharedWeights::attach(loader_, {.model = "small", .keeper = keeper_.socket()});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(holds(*second, 7)) << "at their publisher's as well";
  EXPECT_EQ(models().front().readers, 2U);
  EXPECT_EQ(models().front().bytes, 4_MiB);
}

TEST_F(Weights, WhatCannotBeAttachedIsNamed) {
  expect_refused(attach({}), Code::not_found, "attach: small is not there");
  publish(small_model("1"), 7);
  expect_refused(attach({.version = "2"}), Code::not_found, "small 2");
  expect_refused(attach({.shards = 2}), Code::invalid_argument, "1 shards, not 2");
  expect_refused(SharedWeights::attach(engine_, {.keeper = keeper_.socket()}),
                 Code::invalid_argument, "no model is named");
  Runtime other = open_small("emu:1");
  expect_refused(SharedWeights::attach(other, {.model = "small", .keeper = keeper_.socket()}),
                 Code::failed_precondition, "is not on");
  expect_refused(
      SharedWeights::attach(engine_, {.model = "small", .keeper = "/nowhere/keeper.sock"}),
      Code::unavailable, "/nowhere/keeper.sock");
}

TEST_F(Weights, WhatCannotBePublishedIsNamedAndTakesNoMemory) {
  auto first = WeightsPublisher::begin(loader_, small_model("1"), keeper_.socket());
  ASSERT_TRUE(first.ok());
  expect_refused(WeightsPublisher::begin(loader_, small_model("1"), keeper_.socket()),
                 Code::already_exists, "is being published");
  Manifest lie = small_model("2");
  lie.tensors[2].offset = 0;
  expect_refused(WeightsPublisher::begin(loader_, lie, keeper_.socket()), Code::invalid_argument,
                 "norm");
  const std::byte one{1};
  expect_refused(first->write(3, 0, &one, 1), Code::invalid_argument, "tensor 3");
  expect_refused(first->write(2, 4095, &one, 2), Code::invalid_argument, "tensor 2");
  ASSERT_TRUE(fill(*first, small_model("1"), 1).ok());
  ASSERT_TRUE(first->commit().ok());
  expect_refused(WeightsPublisher::begin(loader_, small_model("1"), keeper_.socket()),
                 Code::already_exists, "is published");
  Manifest large = small_model("3");
  large.slabs.assign(17, 2_MiB);
  expect_refused(WeightsPublisher::begin(loader_, large, keeper_.socket()),
                 Code::resource_exhausted);
  EXPECT_EQ(models().size(), 1U);
}

TEST_F(Weights, APublisherThatGoesLeavesNothing) {
  {
    auto publisher = WeightsPublisher::begin(loader_, small_model("1"), keeper_.socket());
    ASSERT_TRUE(publisher.ok());
    EXPECT_EQ(models().front().filling, 1U);
    expect_refused(attach({}), Code::not_found);
  }
  // The keeper learns of it by the connection's end, which it hears before a later request.
  EXPECT_TRUE(models().empty());
  publish(small_model("1"), 8);
}

TEST_F(Weights, ANewVersionIsWhatTheNextOneGetsAndTheOldGoesWithItsReaders) {
  publish(small_model("1"), 1);
  std::optional<SharedWeights> old = attach({}).value();
  publish(small_model("2"), 2);
  EXPECT_TRUE(holds(*old, 1));
  EXPECT_TRUE(holds(attach({}).value(), 2));
  EXPECT_TRUE(holds(attach({.version = "1"}).value(), 1));
  EXPECT_TRUE(models().front().superseded);
  old.reset();
  ASSERT_EQ(models().size(), 1U);
  EXPECT_EQ(models().front().version, "2");
}

TEST_F(Weights, ShardsAreAttachedWhenAllAreThere) {
  publish(small_model("1", 0, 2), 1);
  expect_refused(attach({.shard = 0, .shards = 2}), Code::not_found, "with all of its shards");
  publish(small_model("1", 1, 2), 2);
  EXPECT_TRUE(holds(attach({.shard = 0, .shards = 2}).value(), 1));
  EXPECT_TRUE(holds(attach({.shard = 1, .shards = 2}).value(), 2));
}

TEST_F(Weights, SuspendedTheyLetAVersionGoAndResumedTheyAreTheNewestAtTheSameAddresses) {
  publish(small_model("1"), 1);
  SharedWeights weights = attach({}).value();
  const std::byte* const address = weights.find("norm")->address;
  ASSERT_TRUE(weights.suspend().ok());
  EXPECT_TRUE(weights.suspend().ok()) << "twice is once";
  expect_refused(weights.verify(), Code::failed_precondition);
  publish(small_model("2"), 2);
  EXPECT_EQ(models().size(), 1U) << "nobody reads version 1";
  ASSERT_TRUE(weights.resume().ok());
  EXPECT_EQ(weights.manifest().version, "2");
  EXPECT_EQ(weights.find("norm")->address, address);
  EXPECT_TRUE(holds(weights, 2));
  EXPECT_TRUE(weights.verify().ok());
  EXPECT_EQ(models().front().readers, 1U);
}

TEST_F(Weights, OntoAnotherLayoutTheyDoNotResume) {
  publish(small_model("1"), 1);
  SharedWeights weights = attach({}).value();
  ASSERT_TRUE(weights.suspend().ok());
  Manifest other = small_model("2");
  other.tensors.pop_back();
  publish(other, 2);
  expect_refused(weights.resume(), Code::failed_precondition, "laid out in another way");
  EXPECT_EQ(weights.manifest().version, "1");
  expect_refused(weights.verify(), Code::failed_precondition);
}

TEST_F(Weights, OfAKeeperThatWasKilledStayAndAreSuspendedUntilAnotherHasThem) {
  publish(small_model("1"), 1);
  SharedWeights weights = attach({}).value();
  keeper_.kill();
  EXPECT_TRUE(holds(weights, 1));
  EXPECT_TRUE(weights.verify().ok());
  expect_refused(attach({}), Code::unavailable);
  ASSERT_TRUE(weights.suspend().ok());
  expect_refused(weights.resume(), Code::unavailable);
  keeper_.start();
  expect_refused(weights.resume(), Code::not_found);
  publish(small_model("1"), 1);
  ASSERT_TRUE(weights.resume().ok());
  EXPECT_TRUE(holds(weights, 1));
}

TEST_F(Weights, AForkedChildOfThePublisherFailsTheCommitUntilItEnds) {
  auto publisher = WeightsPublisher::begin(loader_, small_model("1"), keeper_.socket());
  ASSERT_TRUE(publisher.ok());
  ASSERT_TRUE(fill(*publisher, small_model("1"), 3).ok());
  test::ForkedChild child;
  expect_refused(publisher->commit(), Code::failed_precondition, "still mapped to be written");
  expect_refused(attach({}), Code::not_found);
  child.end();
  ASSERT_TRUE(publisher->commit().ok());
  EXPECT_TRUE(holds(attach({}).value(), 3));
}

TEST_F(Weights, AreRetiredByName) {
  publish(small_model("1"), 1);
  std::optional<SharedWeights> weights = attach({}).value();
  expect_refused(retire_model("small", "2", keeper_.socket()), Code::not_found);
  ASSERT_TRUE(retire_model("small", "1", keeper_.socket()).ok());
  expect_refused(attach({}), Code::not_found);
  EXPECT_TRUE(holds(*weights, 1)) << "who reads goes on";
  weights.reset();
  EXPECT_TRUE(models().empty());
}

}  // namespace
}  // namespace aqua::sharing
