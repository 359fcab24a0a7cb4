// SPDX-License-Identifier: Apache-2.0
// A LayerPool of which tensors that are away are known to be gone: between steps that is told at
// once where they have bytes, and to nobody where they have none.
#include <set>

#include "base/internals.hpp"
#include "runtime/impl.hpp"
#include "tests/systems/layer_swap/act/changing_layer_pool.hpp"

namespace aqua::test {
namespace {

class LayerPoolGone : public ChangingLayerPool, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { schedule_ = GetParam(); }
  [[nodiscard]] auto tensors() {
    const auto all = detail::Internals::impl(*runtime_).table().all();
    return std::set(all.begin(), all.end());
  }
};
INSTANTIATE_TEST_SUITE_P(Schedules, LayerPoolGone, schedules, schedule_name);

TEST_P(LayerPoolGone, ResizeSaysSoAndSoDoesAllThatFollows) {
  open(4, "");
  come(1, 4);
  engine_->settle();
  for (const auto& tensor : tensors()) EXPECT_TRUE(tensor->lose());
  const auto resized = pool().resize(3);
  EXPECT_EQ(resized.error().code, Code::data_loss);
  EXPECT_NE(resized.error().message.find("discard()"), std::string::npos);
  EXPECT_EQ(pool().begin_step(engine_->stream(), {}, {}).error().code, Code::data_loss);
  ASSERT_TRUE(pool().discard().ok());
  engine_->forget_all();
  engine_->must_step({0, 1});
  read_all();
}

// Room for layers that will be away has no bytes yet.
TEST_P(LayerPoolGone, RoomForAChangeUnderWayHasNoBytesToLose) {
  open(3, "");
  come(1, 4);
  come(2, 10);
  engine_->settle();
  const auto before = tensors();
  gives_back_ = false;
  unsigned fresh = 0;
  const auto begun = pool().resize(4, *blocks_, engine_->stream());
  ASSERT_TRUE(begun.ok() && !*begun) << "it waits for the blocks of sequence 2";
  for (const auto& tensor : tensors()) {
    if (before.contains(tensor)) continue;
    EXPECT_TRUE(tensor->lose());
    ++fresh;
  }
  EXPECT_GT(fresh, 0U);
  AquaTensor room = *runtime_->allocate({.bytes = pool().packed_bytes(2)});
  const auto copied = pool().offload(Blocks{0, 1}, room, engine_->stream());
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(engine_->wrong_in(room, engine_->stamps_of({0, 1})), 0U);
  read_all();
}

}  // namespace
}  // namespace aqua::test
