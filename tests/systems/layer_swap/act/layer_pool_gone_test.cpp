// SPDX-License-Identifier: Apache-2.0
// A LayerPool of which tensors that are away are known to be gone: between steps that is told at
// once.
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

}  // namespace
}  // namespace aqua::test
