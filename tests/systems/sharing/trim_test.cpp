// SPDX-License-Identifier: Apache-2.0
// Weights that nobody reads go to host memory, and come back from there, byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string_view>

#include "aqua/emulated.hpp"
#include "aqua/published_memory.hpp"
#include "aqua/runtime.hpp"
#include "aqua/sharing/copy_weights.hpp"
#include "aqua/sharing/models.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "aqua/sharing/trim_weights.hpp"
#include "aqua/sharing/weights_publisher.hpp"
#include "base/step.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/sharing/small_model.hpp"
#include "tests/systems/sharing/small_runtime.hpp"
#include "tools/keeper/keeper.hpp"

namespace aqua::sharing {
namespace {

using namespace aqua::literals;

// A small model takes 4 MiB.
class TrimmedWeights : public ::testing::Test {
 protected:
  void publish(const std::string& model, std::uint64_t seed, const std::string& version = "1") {
    const Manifest manifest = small_model_of(model, version);
    auto publisher = WeightsPublisher::begin(gpu_, manifest, keeper_.socket());
    ASSERT_TRUE(publisher.ok()) << publisher.error().message;
    ASSERT_TRUE(fill(*publisher, manifest, seed).ok());
    ASSERT_TRUE(publisher->commit().ok());
  }
  static Manifest small_model_of(const std::string& model, const std::string& version) {
    Manifest manifest = small_model(version);
    manifest.model = model;
    return manifest;
  }
  Result<SharedWeights> attach(const std::string& model) {
    return SharedWeights::attach(gpu_, {.model = model, .keeper = keeper_.socket()});
  }
  // "a b": what was moved.
  std::string trim(std::uint64_t bytes) {
    const auto moved = trim_weights(gpu_, host_, {.bytes = bytes, .keeper = keeper_.socket()});
    if (!moved.ok()) return moved.error().message;
    std::string names;
    for (const TrimmedVersion& one : *moved) {
      EXPECT_EQ(one.bytes, 4_MiB);
      names += (names.empty() ? "" : " ") + one.model;
    }
    return names;
  }
  // "a:gpu b:host": where each copy is.
  std::string places() {
    std::string all;
    for (const ModelCopy& copy : list_copies(keeper_.socket()).value()) {
      EXPECT_EQ(copy.readers, 0U);
      EXPECT_EQ(copy.spare, copy.device == PublishedMemory::host_device());
      all += (all.empty() ? "" : " ") + copy.model + (copy.spare ? ":host" : ":gpu");
    }
    return all;
  }
  bool holds(const WeightTensor& tensor, std::uint64_t seed, std::size_t number) {
    const auto expected = small_bytes(tensor.bytes, seed, number);
    bool same = false;
    const Stream stream = emulated::create_stream(gpu_).value();
    EXPECT_TRUE(emulated::launch(gpu_, stream, [&] {
                  same = std::memcmp(emulated::kernel_view(tensor.address), expected.data(),
                                     expected.size()) == 0;
                }).ok());
    EXPECT_TRUE(emulated::destroy_stream(gpu_, stream).ok());
    return same;
  }
  Result<LoadedWeights> bring_back(const std::string& model) {
    return copy_weights(gpu_, {.model = model, .source = &host_, .keeper = keeper_.socket()});
  }

  test::KeeperProcess keeper_;
  Runtime gpu_ = open_small("emu:0", true), host_ = open_small("host");
};

TEST_F(TrimmedWeights, GoInTheOrderOfTheirLastUsesUntilThereIsRoom) {
  publish("a", 1);
  publish("b", 2);
  publish("c", 3);
  ASSERT_TRUE(attach("a").ok());
  EXPECT_EQ(trim(4_MiB + 1), "b c");
  EXPECT_EQ(places(), "a:gpu b:host c:host");
  EXPECT_EQ(trim(1), "a");
  EXPECT_EQ(trim(1), "") << "nothing is left";
}

TEST_F(TrimmedWeights, ComeBackByteForByteAndGoAgainWithoutACopy) {
  publish("a", 7);
  EXPECT_EQ(trim(1), "a");
  const auto away = attach("a");
  ASSERT_FALSE(away.ok());
  EXPECT_EQ(away.error().code, Code::failed_precondition);
  EXPECT_NE(away.error().message.find("but on host memory"), std::string::npos)
      << away.error().message;

  const auto back = bring_back("a");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(places(), "a:host a:gpu");
  {
    auto weights = attach("a");
    ASSERT_TRUE(weights.ok()) << weights.error().message;
    EXPECT_TRUE(weights->verify().ok());
    EXPECT_TRUE(holds(*weights->find("qkv"), 7, 0));
    EXPECT_TRUE(holds(*weights->find("norm"), 7, 2));
  }
  static std::atomic<int> copied;
  copied = 0;
  step_hook = [](const char* name) { copied += name == std::string_view("copy") ? 1 : 0; };
  EXPECT_EQ(trim(1), "a");
  step_hook = nullptr;
  EXPECT_EQ(copied, 0);
  EXPECT_EQ(places(), "a:host");
}

TEST_F(TrimmedWeights, ThatAreReadStayAlsoIfThatBeginsMeanwhile) {
  publish("a", 1);
  publish("b", 2);
  publish("c", 3);
  auto reader = attach("c");
  ASSERT_TRUE(reader.ok());
  std::optional<SharedWeights> late;
  const auto moved =
      trim_weights(gpu_, host_,
                   {.bytes = 1_GiB,
                    .keeper = keeper_.socket(),
                    .on_move = [&](const std::string& model, const std::string& version) {
                      EXPECT_EQ(version, "1");
                      if (model == "a") late = attach("a").value();
                    }});
  ASSERT_TRUE(moved.ok()) << moved.error().message;
  EXPECT_EQ(*moved, (std::vector<TrimmedVersion>{{"b", "1", 4_MiB}}));
  EXPECT_TRUE(late->verify().ok());
  EXPECT_TRUE(reader->verify().ok());
  late.reset();
  ASSERT_TRUE(reader->suspend().ok());
  EXPECT_EQ(places(), "a:gpu b:host c:gpu") << "and no copy of a is left in host memory";
}

TEST_F(TrimmedWeights, OfWhichOneShardFindsNoRoomStayAndLeaveNothingInHostMemory) {
  const aqua::testing::TempDir directory;
  const std::string socket = directory / "k";
  // For two shards, and one copy of one.
  const auto keeper = keeper::Keeper::start({.socket = socket, .most_slabs = 6}).value();
  for (const std::uint32_t shard : {0U, 1U}) {
    const Manifest manifest = small_model("1", shard, 2);
    auto publisher = WeightsPublisher::begin(gpu_, manifest, socket).value();
    ASSERT_TRUE(fill(publisher, manifest, shard).ok());
    ASSERT_TRUE(publisher.commit().ok());
  }
  expect_refused(trim_weights(gpu_, host_, {.bytes = 1, .keeper = socket}),
                 Code::resource_exhausted, "0 of 1 bytes were given back");
  const auto copies = list_copies(socket).value();
  EXPECT_EQ(copies.size(), 2U);
  EXPECT_TRUE(std::ranges::none_of(copies, &ModelCopy::spare));
}

TEST_F(TrimmedWeights, InHostMemoryGoWhenANewerVersionShows) {
  publish("a", 1);
  EXPECT_EQ(trim(1), "a");
  publish("a", 2, "2");
  EXPECT_EQ(places(), "a:gpu");
  auto weights = attach("a");
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(weights->manifest().version, "2");
}

TEST_F(TrimmedWeights, OfAnOlderVersionThanAnotherDeviceHasComeBackAsWell) {
  publish("a", 1);
  Runtime other = open_small("emu:1", true);
  auto newer = WeightsPublisher::begin(other, small_model_of("a", "2"), keeper_.socket()).value();
  ASSERT_TRUE(fill(newer, small_model("2"), 2).ok());
  ASSERT_TRUE(newer.commit().ok());
  EXPECT_EQ(trim(1), "a");
  const auto back = copy_weights(
      gpu_, {.model = "a", .version = "1", .source = &host_, .keeper = keeper_.socket()});
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(attach("a")->manifest().version, "1");
}

TEST_F(TrimmedWeights, WhatCannotBeIsNamed) {
  expect_refused(trim_weights(gpu_, host_, {.keeper = keeper_.socket()}), Code::invalid_argument,
                 "no bytes");
  expect_refused(trim_weights(gpu_, gpu_, {.bytes = 1, .keeper = keeper_.socket()}),
                 Code::invalid_argument, "\"host\"");
  expect_refused(trim_weights(host_, host_, {.bytes = 1, .keeper = keeper_.socket()}),
                 Code::invalid_argument, "\"host\"");
  expect_refused(Runtime::open({.device = "host", .coordinator = "unix:/nowhere"}),
                 Code::invalid_argument, "lends nothing");
  publish("a", 1);
  const std::string gpu = PublishedMemory::device_of(gpu_);
  const auto only = drop_copies("a", "1", gpu, keeper_.socket());
  ASSERT_FALSE(only.ok());
  EXPECT_EQ(only.error().code, Code::failed_precondition) << "it is the only one";
  EXPECT_EQ(drop_copies("b", "1", gpu, keeper_.socket()).error().code, Code::not_found);
  EXPECT_EQ(drop_copies("a", "1", "cuda", keeper_.socket()).error().code, Code::invalid_argument);
  const auto without = copy_weights(host_, {.model = "a", .from = gpu, .keeper = keeper_.socket()});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, Code::failed_precondition);
  EXPECT_NE(without.error().message.find("a runtime"), std::string::npos);
  EXPECT_EQ(places(), "a:gpu");
  CopyOptions elsewhere{.model = "a", .from = gpu, .source = &host_, .keeper = keeper_.socket()};
  expect_refused(copy_weights(host_, elsewhere), Code::invalid_argument,
                 "no runtime on the device");
}

}  // namespace
}  // namespace aqua::sharing
