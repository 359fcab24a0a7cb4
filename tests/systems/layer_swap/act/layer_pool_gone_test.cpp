// SPDX-License-Identifier: Apache-2.0
// A LayerPool of which tensors that are away are known to be gone: between steps that is told at
// once where they have bytes, and costs nothing where they have none.
#include <string>

#include "base/internals.hpp"
#include "runtime/impl.hpp"
#include "tests/systems/layer_swap/act/changing_layer_pool.hpp"

namespace aqua::test {
namespace {

class LayerPoolGone : public ChangingLayerPool, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { schedule_ = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Schedules, LayerPoolGone, schedules, schedule_name);

TEST_P(LayerPoolGone, WhoeverHasTheListIsToldWhoseKvIsLost) {
  open(4, "");
  come(7, 2);
  come(9, 1);
  engine_->settle();
  for (const auto& tensor : detail::Internals::impl(*runtime_).table().all())
    EXPECT_TRUE(tensor->lose());
  for (int round = 0; round < 2; ++round) {
    const auto resized = pool().resize(3, *blocks_, engine_->stream());
    ASSERT_FALSE(resized.ok());
    EXPECT_EQ(resized.error().code, Code::data_loss);
    EXPECT_TRUE(resized.error().message.ends_with("; 2 have blocks: 7, 9"))
        << resized.error().message;
  }
}

TEST_P(LayerPoolGone, ResizeSaysSoAndSoDoesAllThatFollows) {
  open(4, "");
  come(1, 4);
  engine_->settle();
  for (const auto& tensor : detail::Internals::impl(*runtime_).table().all())
    EXPECT_TRUE(tensor->lose());
  const auto resized = pool().resize(3);
  ASSERT_FALSE(resized.ok());
  EXPECT_EQ(resized.error().code, Code::data_loss);
  EXPECT_NE(resized.error().message.find("discard()"), std::string::npos);
  EXPECT_EQ(pool().begin_step(engine_->stream(), {}, {}).error().code, Code::data_loss);
  ASSERT_TRUE(pool().discard().ok());
  engine_->forget_all();
  engine_->must_step({0, 1});
  read_all();
}

// Nine layers of one plane in 42 slabs: 28 blocks with six frames, 24 with seven. Of seven frames
// layer 2 streams, which stays with six.
class LayerPoolRoomGone : public ChangingLayerPool {
 protected:
  LayerPoolRoomGone() {
    shape_.layers = 9;
    shape_.device_bytes = 84_MiB;
  }
  // Whether there is a tensor of this name, whose memory has died now.
  bool lose(const std::string& name) {
    for (const auto& tensor : detail::Internals::impl(*runtime_).table().all()) {
      if (tensor->options().name == name) return tensor->lose();
    }
    return false;
  }
};

TEST_F(LayerPoolRoomGone, OfAChangeUnderWayIsTakenAnew) {
  gives_back_ = false;
  open(6, "", 0, 256_MiB);
  come(1, 4);
  come(2, 20);
  come(3, 2);
  come(4, 2);
  engine_->forget(blocks_->blocks_of(1));
  ASSERT_TRUE(blocks_->release(1).ok());
  come(5, 2);
  const auto begun = pool().resize(7, *blocks_, engine_->stream());
  ASSERT_TRUE(begun.ok()) << begun.error().message;
  ASSERT_FALSE(*begun) << "it waits for the blocks of sequence 5";
  ASSERT_TRUE(lose("layer pool layer 2")) << "it was to be away, and holds nothing yet";
  ASSERT_TRUE(lose("layer pool moves"));

  const Blocks some{4, 5};  // of sequence 2
  AquaTensor copy = *runtime_->allocate({.bytes = pool().packed_bytes(some.size())});
  const auto copied = pool().offload(some, copy, engine_->stream());
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(engine_->wrong_in(copy, engine_->stamps_of(some)), 0U);
  read_all();

  engine_->forget(blocks_->blocks_of(5));
  ASSERT_TRUE(blocks_->release(5).ok());
  const auto ended = pool().resize(7, *blocks_, engine_->stream());
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_TRUE(*ended);
  EXPECT_EQ(pool().status().frames, 7U);
  ASSERT_GE(news_.size(), 2U);
  EXPECT_FALSE(news_[news_.size() - 2].moved.empty()) << "through the room";
  read_all();
  read_all();
}

}  // namespace
}  // namespace aqua::test
