// SPDX-License-Identifier: Apache-2.0
// LayerPool with an engine's list of blocks: frames change by hand, the list follows, and no byte
// of a sequence is wrong.
#include "tests/systems/layer_swap/act/changing_layer_pool.hpp"

namespace aqua::test {
namespace {

using layer_swap::BlockMove;
using std::chrono::milliseconds;

class LayerPoolResizing : public ChangingLayerPool,
                          public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { schedule_ = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Schedules, LayerPoolResizing, test::schedules, test::schedule_name);

TEST_P(LayerPoolResizing, ShrinkingPreemptsTheLastAndMovesTheOthersBlocks) {
  open(3, "");
  come(1, 3);
  come(2, 4);
  come(3, 6);
  come(4, 3);
  engine_->forget(blocks_->blocks_of(1));
  ASSERT_TRUE(blocks_->release(1).ok());
  ASSERT_TRUE(*pool().resize(4, *blocks_, engine_->stream()));
  ASSERT_EQ(news_.size(), 3U);
  EXPECT_EQ(news_[0].preempt, std::vector<SequenceId>{4});
  EXPECT_EQ(news_[1].moved, (std::vector<BlockMove>{{3, 12, 0}}));
  EXPECT_TRUE(news_[2].done);
  EXPECT_EQ(news_[2].usable_blocks, 12U);
  read_all();
  ASSERT_TRUE(*pool().resize(5, *blocks_, engine_->stream()));
  read_all();
  ASSERT_TRUE(*pool().resize(3, *blocks_, engine_->stream()));
  EXPECT_EQ(blocks_->usable_blocks(), 16U);
  for (const SequenceId sequence : {3U, 4U}) swap_in(sequence);
  read_all();
  read_all();
  EXPECT_EQ(engine_->stamped().size(), 13U);
}

// A long kernel of the engine's keeps back the copies of the one that is preempted, and with them
// the moves to its places. Nobody waits for its time: were the moves not behind it, they would be
// over long before it, and no event tells of that but the bytes.
TEST_P(LayerPoolResizing, BlocksMoveOnlyToPlacesThatHaveBeenCopiedFrom) {
  open(3, "");
  come(1, 4);
  come(2, 10);
  engine_->forget(blocks_->blocks_of(1));
  ASSERT_TRUE(blocks_->release(1).ok());
  come(4, 4);
  const auto kernel = [] { std::this_thread::sleep_for(milliseconds(200)); };
  ASSERT_TRUE(emulated::launch(*runtime_, engine_->stream(), kernel).ok());
  ASSERT_TRUE(*pool().resize(4, *blocks_, engine_->stream()));
  EXPECT_EQ(news_[0].preempt, std::vector<SequenceId>{4});
  EXPECT_EQ(news_[1].moved.size(), 2U);
  EXPECT_LT(news_[1].moved.front().to, 4U);
  read_all();
  engine_->forget(blocks_->blocks_of(2));
  ASSERT_TRUE(blocks_->release(2).ok());
  swap_in(4);
  read_all();
}

TEST_P(LayerPoolResizing, AChangeThatHasBegunWaitsForItsBlocksAndIsCompletedFirst) {
  gives_back_ = false;
  open(3, "");
  come(1, 10);
  come(2, 6);
  EXPECT_FALSE(*pool().resize(4, *blocks_, engine_->stream()));
  EXPECT_EQ(blocks_->usable_blocks(), 12U) << "no block past these is handed out any more";
  EXPECT_EQ(pool().usable_blocks(), 16U);
  read_all();
  EXPECT_FALSE(*pool().resize(3, *blocks_, engine_->stream()));
  swap_out(2);
  const auto alone = pool().resize(6);
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().code, Code::failed_precondition) << alone.error().message;
  EXPECT_TRUE(*pool().resize(3, *blocks_, engine_->stream()));
  ASSERT_EQ(news_.size(), 3U);
  EXPECT_EQ(news_[0].preempt, std::vector<SequenceId>{2});
  EXPECT_TRUE(news_[1].done && news_[2].done);
  EXPECT_EQ(news_[1].usable_blocks, 12U);
  EXPECT_EQ(news_[2].usable_blocks, 16U);
  swap_in(2);
  read_all();
}

TEST_P(LayerPoolResizing, WithoutRoomForWhatIsMovedNoSequenceIsPreempted) {
  open(3, "", 0, 96_MiB);
  come(1, 3);
  come(2, 8);
  come(3, 5);
  std::vector<AquaTensor> others;  // of the engine, until host memory is full
  for (;;) {
    auto tensor = runtime_->allocate({.bytes = 1_MiB, .off_device = true});
    if (!tensor.ok()) break;
    others.push_back(std::move(*tensor));
  }
  const std::size_t away = pool().status().away_bytes;
  const auto resized = pool().resize(4, *blocks_, engine_->stream());
  ASSERT_FALSE(resized.ok());
  EXPECT_EQ(resized.error().code, Code::resource_exhausted) << resized.error().message;
  EXPECT_TRUE(news_.empty());
  EXPECT_EQ(blocks_->usable_blocks(), 16U);
  EXPECT_EQ(pool().status().away_bytes, away);
  read_all();
  others.clear();
  ASSERT_TRUE(*pool().resize(4, *blocks_, engine_->stream()));
  EXPECT_EQ(news_.front().preempt, std::vector<SequenceId>{3});
  read_all();
}

// The list still gives up blocks, of sequences that have no KV any more.
TEST_P(LayerPoolResizing, ADiscardEndsTheChangeUnderWay) {
  gives_back_ = false;
  open(3, "");
  come(1, 10);
  come(2, 6);
  ASSERT_FALSE(*pool().resize(4, *blocks_, engine_->stream()));
  ASSERT_TRUE(pool().discard().ok());
  engine_->forget_all();
  EXPECT_FALSE(*pool().resize(3, *blocks_, engine_->stream())) << "blocks are held that were to go";
  ASSERT_TRUE(blocks_->release(1).ok() && blocks_->release(2).ok());
  ASSERT_TRUE(*pool().resize(3, *blocks_, engine_->stream()));
  EXPECT_EQ(blocks_->usable_blocks(), 16U);
  EXPECT_EQ(pool().status().frames, 3U);
  come(4, 16);
  read_all();
}

TEST_P(LayerPoolResizing, AListThatGivesUpBlocksByItselfIsCompletedFirst) {
  open(3, "");
  come(1, 9);
  come(2, 3);
  come(3, 2);
  engine_->forget(blocks_->blocks_of(2));
  ASSERT_TRUE(blocks_->release(2).ok());
  ASSERT_TRUE(blocks_->resize(11)->empty());
  ASSERT_TRUE(*pool().resize(4, *blocks_, engine_->stream()));
  ASSERT_FALSE(news_.empty());
  EXPECT_EQ(news_[0].moved.size(), 2U) << "of sequence 3, whose blocks were 12 and 13";
  EXPECT_EQ(blocks_->usable_blocks(), 12U);
  read_all();
  ASSERT_TRUE(blocks_->resize(20).ok()) << "a growth that no memory stands behind";
  ASSERT_TRUE(*pool().resize(4, *blocks_, engine_->stream()));
  EXPECT_EQ(blocks_->usable_blocks(), 12U);
  EXPECT_FALSE(blocks_->resizing());
}

// What sequences were copied to and fro is waited for as the steps are.
TEST_P(LayerPoolResizing, NoFrameChangesUnderACopyOfASequence) {
  open(3, "", 50'000'000);
  come(1, 8);
  come(2, 2);
  engine_->settle();
  while (!*pool().step_done(2)) std::this_thread::yield();
  swap_out(2);  // from places that are unmapped then
  ASSERT_TRUE(pool().resize(6).ok());
  ASSERT_TRUE(pool().resize(3).ok());
  swap_in(2);
  ASSERT_TRUE(pool().resize(4).ok());
  read_all();
}

TEST_P(LayerPoolResizing, AListOfOtherBlocksIsRefused) {
  open(4, "");
  BlockPool more = *BlockPool::create(6, 13);
  BlockPool other = *BlockPool::create(5, 12);
  for (BlockPool* const list : {&more, &other}) {
    const auto resized = pool().resize(3, *list, engine_->stream());
    ASSERT_FALSE(resized.ok());
    EXPECT_EQ(resized.error().code, Code::invalid_argument) << resized.error().message;
  }
  EXPECT_EQ(pool().resize(7, *blocks_, engine_->stream()).error().code, Code::invalid_argument);
  BlockPool shrunk = *BlockPool::create(6, 30);
  ASSERT_TRUE(shrunk.allocate(1, 2).ok() && shrunk.allocate(2, 10).ok());
  ASSERT_TRUE(shrunk.allocate(1, 1).ok() && shrunk.release(2).ok());
  ASSERT_TRUE(shrunk.resize(12)->empty());  // block 12 is held, which the pool has not
  EXPECT_EQ(pool().resize(3, shrunk, engine_->stream()).error().code, Code::invalid_argument);
  gives_back_ = false;
  come(1, 12);
  ASSERT_FALSE(*pool().resize(6, *blocks_, engine_->stream()));
  BlockPool another = *BlockPool::create(6, 8);
  EXPECT_EQ(pool().resize(6, another, engine_->stream()).error().code, Code::invalid_argument);
  EXPECT_EQ(pool().status().frames, 4U);
}

}  // namespace
}  // namespace aqua::test
