// SPDX-License-Identifier: Apache-2.0
// Weights that go from one device to another: the same bytes, and nothing where they are not.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "aqua/published_memory.hpp"
#include "aqua/runtime.hpp"
#include "aqua/sharing/copy_weights.hpp"
#include "aqua/sharing/models.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "aqua/sharing/weights_publisher.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/sharing/small_model.hpp"
#include "tests/systems/sharing/small_runtime.hpp"

namespace aqua::sharing {
namespace {

using namespace aqua::literals;

class CopiedWeights : public ::testing::Test {
 protected:
  void publish(std::uint64_t seed) {
    auto publisher = WeightsPublisher::begin(here_, small_model("1"), keeper_.socket());
    ASSERT_TRUE(publisher.ok()) << publisher.error().message;
    ASSERT_TRUE(fill(*publisher, small_model("1"), seed).ok());
    ASSERT_TRUE(publisher->commit().ok());
  }
  [[nodiscard]] CopyOptions options() {
    return {
        .model = "small", .from = PublishedMemory::device_of(here_), .keeper = keeper_.socket()};
  }
  [[nodiscard]] ModelStatus model() { return list_models(keeper_.socket()).value().front(); }

  test::KeeperProcess keeper_;
  Runtime here_ = open_small("emu:0");
  Runtime there_ = open_small("emu:1");
};

TEST_F(CopiedWeights, AreThereByteForByte) {
  publish(7);
  std::uint64_t told = 0, of = 0;
  CopyOptions wanted = options();
  wanted.on_progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GT(done, told);
    EXPECT_EQ(model().readers, 1U) << "they are claimed meanwhile";
    told = done;
    of = all;
  };
  const auto copied = copy_weights(there_, wanted);
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(copied->tensors, 3U);
  EXPECT_EQ(copied->bytes, std::uint64_t{769} * 4096);
  EXPECT_EQ(copied->slab_bytes, 4_MiB);
  EXPECT_EQ(told, copied->bytes);
  EXPECT_EQ(of, copied->bytes);
  EXPECT_EQ(model().copies, 2U);
  EXPECT_EQ(model().readers, 0U);

  auto weights = SharedWeights::attach(there_, {.model = "small", .keeper = keeper_.socket()});
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  for (const std::size_t tensor : {0U, 2U}) {
    const WeightTensor found = weights->tensor(tensor);
    const auto expected = small_bytes(found.bytes, 7, tensor);
    EXPECT_EQ(std::memcmp(found.address, expected.data(), expected.size()), 0);
  }
  EXPECT_TRUE(weights->verify().ok());
  EXPECT_EQ(weights->protection(), WriteProtection::enforced);
}

// In several pieces, and over five slabs.
TEST_F(CopiedWeights, ALargeTensorIsThereByteForByte) {
  constexpr std::uint64_t kBytes = 9_MiB + 77;
  Manifest manifest{.model = "small", .version = "1"};
  manifest.types = {{.name = "U8", .bytes = 1}};
  manifest.tensors = {{.name = "large", .shape = {kBytes}}};
  ASSERT_TRUE(lay_out(manifest, 2_MiB).ok());
  const auto bytes = small_bytes(kBytes, 3, 0);
  auto publisher = WeightsPublisher::begin(here_, manifest, keeper_.socket());
  ASSERT_TRUE(publisher.ok()) << publisher.error().message;
  ASSERT_TRUE(publisher->write(0, 0, bytes.data(), bytes.size()).ok());
  ASSERT_TRUE(publisher->commit().ok());
  unsigned pieces = 0;
  CopyOptions wanted = options();
  wanted.on_progress = [&](std::uint64_t, std::uint64_t) { ++pieces; };
  ASSERT_TRUE(copy_weights(there_, wanted).ok());
  EXPECT_GT(pieces, 1U);
  const auto weights =
      SharedWeights::attach(there_, {.model = "small", .keeper = keeper_.socket()});
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(std::memcmp(weights->find("large")->address, bytes.data(), kBytes), 0);
}

TEST_F(CopiedWeights, WhatCannotBeCopiedIsNamed) {
  expect_refused(copy_weights(there_, options()), Code::not_found, "small is not there");
  publish(7);
  CopyOptions wanted = options();
  wanted.model.clear();
  expect_refused(copy_weights(there_, wanted), Code::invalid_argument, "no model is named");
  wanted = options();
  wanted.version = "2";
  expect_refused(copy_weights(there_, wanted), Code::not_found, "small 2");
  wanted = options();
  wanted.from = "emu:0";
  expect_refused(copy_weights(there_, wanted), Code::invalid_argument, "emu:0");
  expect_refused(copy_weights(here_, options()), Code::invalid_argument, "own device");
  Runtime other = open_small("emu:2");
  wanted = options();
  wanted.from = PublishedMemory::device_of(other);
  expect_refused(copy_weights(there_, wanted), Code::failed_precondition, "is not on");
  EXPECT_EQ(model().copies, 1U) << "nothing is left of all that";
  ASSERT_TRUE(copy_weights(there_, options()).ok());
  expect_refused(copy_weights(there_, options()), Code::already_exists, "is published");
  EXPECT_EQ(model().readers, 0U);
}

// Five devices in three rounds; the fourth has them already.
TEST_F(CopiedWeights, AreBroadcastByWhoeverHasThem) {
  publish(7);
  std::vector<Runtime> devices;
  std::vector<Runtime*> to;
  for (const char* name : {"emu:1", "emu:2", "emu:3", "emu:4", "emu:5"}) {
    devices.push_back(open_small(name));
  }
  to.reserve(devices.size());
  for (Runtime& device : devices) to.push_back(&device);
  ASSERT_TRUE(copy_weights(devices[3], options()).ok());
  std::uint64_t told = 0, of = 0;
  CopyOptions wanted = options();
  wanted.on_progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GT(done, told);
    told = done;
    of = all;
  };
  const auto copied = broadcast_weights(to, wanted);
  ASSERT_EQ(copied.size(), 5U);
  EXPECT_EQ(model().copies, 6U);
  EXPECT_EQ(model().readers, 0U);
  std::map<std::string, std::uint64_t> used;
  for (const ModelCopy& copy : list_copies(keeper_.socket()).value()) {
    used[copy.device] = copy.last_used;
  }
  EXPECT_GT(used[PublishedMemory::device_of(*to[0])], used[PublishedMemory::device_of(*to[4])])
      << "the last had them from the first, which let go of its reader after that";
  for (std::size_t i = 0; i < copied.size(); ++i) {
    if (i == 3) {
      expect_refused(copied[i], Code::already_exists, "is published");
      continue;
    }
    ASSERT_TRUE(copied[i].ok()) << i << ": " << copied[i].error().message;
    auto weights = SharedWeights::attach(*to[i], {.model = "small", .keeper = keeper_.socket()});
    ASSERT_TRUE(weights.ok()) << i;
    const auto expected = small_bytes(weights->find("qkv")->bytes, 7, 0);
    EXPECT_EQ(std::memcmp(weights->find("qkv")->address, expected.data(), expected.size()), 0);
    EXPECT_TRUE(weights->verify().ok());
  }
  EXPECT_EQ(told, 4 * copied[0]->bytes) << "of those that were copied";
  EXPECT_EQ(of, 5 * copied[0]->bytes);
  EXPECT_TRUE(broadcast_weights({}, options()).empty());
}

TEST_F(CopiedWeights, ABroadcastIsOfOneVersion) {
  publish(7);
  std::vector<Runtime> devices;
  for (const char* name : {"emu:1", "emu:2"}) devices.push_back(open_small(name));
  CopyOptions wanted = options();
  unsigned told = 0;
  wanted.on_progress = [&](std::uint64_t, std::uint64_t) {
    if (told++ != 0) return;  // while the first device gets version 1
    auto newer = WeightsPublisher::begin(here_, small_model("2"), keeper_.socket());
    ASSERT_TRUE(newer.ok()) << newer.error().message;
    ASSERT_TRUE(fill(*newer, small_model("2"), 8).ok());
    ASSERT_TRUE(newer->commit().ok());
  };
  const auto copied = broadcast_weights(std::vector<Runtime*>{&devices[0], &devices[1]}, wanted);
  for (const auto& each : copied) {
    ASSERT_TRUE(each.ok()) << each.error().message;
    EXPECT_EQ(each->version, "1");
  }
}

TEST_F(CopiedWeights, WhatHasComeOtherwiseIsNotPublished) {
  publish(7);
  const Manifest expected =
      SharedWeights::attach(here_, {.model = "small", .keeper = keeper_.socket()})->manifest();
  {
    auto publisher = WeightsPublisher::begin(there_, expected, keeper_.socket());
    ASSERT_TRUE(publisher.ok()) << publisher.error().message;
    Manifest other = expected;
    other.tensors[2].name = "other";
    EXPECT_EQ(publisher->commit(other).error().code, Code::invalid_argument);
    ASSERT_TRUE(fill(*publisher, expected, 7).ok());
    const std::byte wrong{0x5A};
    ASSERT_TRUE(publisher->write(2, 100, &wrong, 1).ok());
    const auto committed = publisher->commit(expected);
    ASSERT_FALSE(committed.ok());
    EXPECT_EQ(committed.error().code, Code::data_loss);
    EXPECT_NE(committed.error().message.find("norm"), std::string::npos)
        << committed.error().message;
    EXPECT_EQ(publisher->commit().error().code, Code::data_loss) << "nor without being compared";
    EXPECT_EQ(publisher->commit(expected).error().code, Code::data_loss);
  }
  EXPECT_EQ(model().copies, 1U);
  EXPECT_TRUE(copy_weights(there_, options()).ok()) << "its name is free again";
}

}  // namespace
}  // namespace aqua::sharing
