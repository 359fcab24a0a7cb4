// SPDX-License-Identifier: Apache-2.0
// Three models of two shards each, published anew again and again while pairs of ranks read them:
// no rank ever sees another version's bytes, and what is superseded goes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "aqua/runtime.hpp"
#include "aqua/sharing/models.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "aqua/sharing/weights_publisher.hpp"
#include "tests/base/open_emulated.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/sharing/small_model.hpp"
#include "tests/systems/sharing/small_runtime.hpp"

namespace aqua::sharing {
namespace {

using namespace aqua::literals;

constexpr unsigned kModels = 3, kVersions = 8;
constexpr std::uint32_t kShards = 2;

std::string model_name(unsigned model) {
  return "model-" + std::to_string(model);
}

// The seed from which the bytes of a shard follow.
std::uint64_t seed_of(unsigned model, unsigned version, std::uint32_t shard) {
  return (std::uint64_t{model} * 1000 + version) * 10 + shard;
}

Runtime open_large() {
  return test::open_emulated(256_MiB, 2_MiB);
}

// The version whose bytes a shard has, all of them; 0: the version that it says is not theirs.
unsigned version_held(const SharedWeights& weights, unsigned model, std::uint32_t shard) {
  const Manifest& manifest = weights.manifest();
  const auto version = static_cast<unsigned>(std::stoul(manifest.version));
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (manifest.tensors[i].view_of) continue;
    const WeightTensor tensor = weights.tensor(i);
    const auto expected = small_bytes(tensor.bytes, seed_of(model, version, shard), i);
    if (std::memcmp(tensor.address, expected.data(), expected.size()) != 0) return 0;
  }
  return version;
}

// Tells at its end, if nobody has before.
class ReadsNow {
 public:
  explicit ReadsNow(std::atomic<bool>& reads) : reads_(reads) {}
  ~ReadsNow() { tell(reads_); }
  ReadsNow(const ReadsNow&) = delete;
  ReadsNow& operator=(const ReadsNow&) = delete;
  static void tell(std::atomic<bool>& reads) {
    reads = true;
    reads.notify_all();
  }

 private:
  std::atomic<bool>& reads_;
};

class ReloadedWeights : public ::testing::Test {
 protected:
  // Both shards of each version, in either order. The second version comes once the first was read:
  // so at least one is read on while it is superseded.
  void publish_all(unsigned model) {
    Runtime loader = open_large();
    std::minstd_rand random(model + 1);
    for (unsigned version = 1; version <= kVersions; ++version) {
      if (version == 2) reading_[model].wait(false);
      const std::uint32_t first = random() % kShards;
      for (const std::uint32_t shard : {first, 1 - first}) {
        Manifest manifest = small_model(std::to_string(version), shard, kShards);
        manifest.model = model_name(model);
        auto publisher = WeightsPublisher::begin(loader, manifest, keeper_.socket());
        ASSERT_TRUE(publisher.ok()) << publisher.error().message;
        ASSERT_TRUE(fill(*publisher, manifest, seed_of(model, version, shard)).ok());
        const auto committed = publisher->commit();
        ASSERT_TRUE(committed.ok()) << committed.error().message;
      }
    }
  }

  Result<SharedWeights> attach(Runtime& runtime, unsigned model, std::uint32_t shard,
                               const std::string& version) {
    return SharedWeights::attach(runtime, {.model = model_name(model),
                                           .version = version,
                                           .shard = shard,
                                           .shards = kShards,
                                           .keeper = keeper_.socket()});
  }

  // A pair of ranks that reloads until it has the last version. One that holds its shard keeps the
  // other's of that version from going.
  void read_until_last(unsigned model) {
    const ReadsNow ends(reading_[model]);  // also where it fails
    std::array<Runtime, kShards> engines{open_large(), open_large()};
    unsigned last = 0;
    while (last < kVersions && !HasFailure()) {
      auto one = attach(engines[0], model, 0, "");
      if (!one.ok()) {
        ASSERT_EQ(one.error().code, Code::not_found) << one.error().message;
        ASSERT_EQ(last, 0U) << "a version has been there";
        std::this_thread::yield();
        continue;
      }
      auto other = attach(engines[1], model, 1, one->manifest().version);
      ASSERT_TRUE(other.ok()) << other.error().message;
      const unsigned version = version_held(*one, model, 0);
      ASSERT_GE(version, std::max(last, 1U)) << "bytes of another version, or an older one";
      ASSERT_EQ(version_held(*other, model, 1), version);
      ++(version == last ? again_ : changed_)[model];
      ReadsNow::tell(reading_[model]);
      // Resumed, the first has the newest by then, and the other one follows it.
      ASSERT_TRUE(one->suspend().ok() && other->suspend().ok());
      const auto resumed = one->resume();
      ASSERT_TRUE(resumed.ok()) << resumed.error().message;
      other = attach(engines[1], model, 1, one->manifest().version);
      ASSERT_TRUE(other.ok()) << other.error().message;
      last = version_held(*one, model, 0);
      ASSERT_GE(last, version);
      ASSERT_EQ(version_held(*other, model, 1), last);
      changed_[model] += last == version ? 0U : 1U;
    }
  }

  test::KeeperProcess keeper_;
  std::array<unsigned, kModels> changed_{}, again_{};
  std::array<std::atomic<bool>, kModels> reading_{};  // a version was read, or none will be
};

TEST_F(ReloadedWeights, AreOfOneVersionInAllShardsAndTheOldOnesGo) {
  std::vector<std::thread> threads;
  for (unsigned model = 0; model < kModels; ++model) {
    threads.emplace_back([this, model] { publish_all(model); });
    threads.emplace_back([this, model] { read_until_last(model); });
  }
  for (std::thread& thread : threads) thread.join();
  for (unsigned model = 0; model < kModels; ++model) {
    RecordProperty(model_name(model), std::to_string(changed_[model]) + " versions seen, " +
                                          std::to_string(again_[model]) + " times the same again");
    EXPECT_GE(changed_[model], 2U) << "no version came while another one was read";
  }
  const auto left = list_models(keeper_.socket()).value();
  ASSERT_EQ(left.size(), kModels) << "superseded versions without readers stay";
  for (const ModelStatus& model : left) {
    EXPECT_EQ(model.version, std::to_string(kVersions));
    EXPECT_EQ(model.readers, 0U);
    EXPECT_EQ(model.bytes, kShards * 4_MiB);
  }
}

}  // namespace
}  // namespace aqua::sharing
