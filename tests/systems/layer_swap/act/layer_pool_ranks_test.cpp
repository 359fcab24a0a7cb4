// SPDX-License-Identifier: Apache-2.0
// Pools of tensor-parallel ranks, each with a list of blocks of its own: they propose differently,
// and blocks have the same numbers all the same.
#include <algorithm>

#include "tests/systems/layer_swap/act/changing_layer_pool.hpp"

namespace aqua::test {
namespace {

class Rank final : public ChangingLayerPool {
 public:
  using ChangingLayerPool::blocks_;
  using ChangingLayerPool::come;
  using ChangingLayerPool::engine_;
  using ChangingLayerPool::news_;
  using ChangingLayerPool::open;
  using ChangingLayerPool::pool;
  using ChangingLayerPool::read_all;

  void let_compute() { engine_->set_compute(ample_compute()); }
  // A step of sequences that use all blocks, of which more are wanted.
  void step(std::uint32_t wanted) {
    EXPECT_TRUE(engine_->step({}, {}, {.blocks_used = 8, .blocks_wanted = wanted}).ok());
    engine_->settle();
  }
  [[nodiscard]] Result<bool> resize(std::uint32_t frames) {
    return pool().resize(frames, *blocks_, engine_->stream());
  }
  void leave(SequenceId sequence) {
    engine_->forget(blocks_->blocks_of(sequence));
    ASSERT_TRUE(blocks_->release(sequence).ok());
  }

 private:
  void TestBody() override {}
};

// The same is asked of both ranks.
class LayerPoolRanks : public ::testing::Test {
 protected:
  template <typename Do>
  void both(const Do& ask) {
    ask(a_);
    ask(b_);
  }
  // Steps of one rank until it proposes fewer frames than there are.
  static void step_until_fewer(Rank& rank, std::uint32_t wanted) {
    for (int i = 0; i < 400 && rank.pool().propose() == 6; ++i) rank.step(wanted);
    EXPECT_LT(rank.pool().propose(), 6U);
  }
  std::uint32_t resize_to_the_most() {
    const std::uint32_t most = std::max(a_.pool().propose(), b_.pool().propose());
    both([most](Rank& rank) { EXPECT_TRUE(*rank.resize(most)); });
    return most;
  }
  void expect_same_blocks() {
    EXPECT_EQ(a_.blocks_->usable_blocks(), b_.blocks_->usable_blocks());
    for (SequenceId sequence = 1; sequence <= 4; ++sequence)
      EXPECT_EQ(a_.blocks_->blocks_of(sequence), b_.blocks_->blocks_of(sequence)) << sequence;
  }

  Rank a_, b_;
};

TEST_F(LayerPoolRanks, WithTheMostFramesThatAnyProposesBlocksHaveTheSameNumbers) {
  both([](Rank& rank) {
    rank.open(6, "capacity");
    rank.let_compute();
  });
  for (int i = 0; i < 5; ++i) b_.step(8);
  step_until_fewer(a_, 16);
  EXPECT_EQ(resize_to_the_most(), 6U);
  both([](Rank& rank) {
    rank.come(1, 4);
    rank.come(2, 3);
  });
  step_until_fewer(b_, 12);
  EXPECT_EQ(resize_to_the_most(), 4U);
  both([](Rank& rank) {
    rank.come(3, 3);
    rank.come(4, 2);
    rank.leave(2);
  });
  expect_same_blocks();
  both([](Rank& rank) {
    rank.news_.clear();
    EXPECT_TRUE(*rank.resize(6));
    ASSERT_FALSE(rank.news_.empty());
    EXPECT_EQ(rank.news_.front().preempt, std::vector<SequenceId>{4});
    EXPECT_EQ(rank.blocks_->blocks_of(3), (std::vector<std::uint32_t>{7, 4, 5}));
    rank.read_all();
  });
  expect_same_blocks();
}

TEST_F(LayerPoolRanks, WhereOneHasNoRoomForMoreBlocksTheOthersGoBack) {
  a_.open(6, "");
  b_.open(6, "", 0, 12_MiB);
  both([](Rank& rank) { rank.come(1, 3); });
  EXPECT_TRUE(*a_.resize(4));
  EXPECT_EQ(b_.resize(4).error().code, Code::resource_exhausted);
  EXPECT_TRUE(*a_.resize(b_.pool().status().frames));
  both([](Rank& rank) {
    rank.come(2, 5);
    rank.read_all();
  });
  expect_same_blocks();
}

}  // namespace
}  // namespace aqua::test
