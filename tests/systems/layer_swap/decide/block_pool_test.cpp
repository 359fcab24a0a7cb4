// SPDX-License-Identifier: Apache-2.0
#include "aqua/layer_swap/block_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>

namespace aqua::layer_swap::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void all_layers_ready(BlockPool& pool, std::uint32_t layers) {
  for (std::uint32_t layer = 0; layer < layers; ++layer) ASSERT_TRUE(pool.layer_ready(layer).ok());
}

TEST(BlockPool, GrowthIsPublishedWhenEveryLayerHasIt) {
  BlockPool pool = *BlockPool::create(3, 4);
  EXPECT_THAT(*pool.allocate(1, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(*pool.resize(6), IsEmpty());
  for (const std::uint32_t layer : {2U, 0U}) {
    ASSERT_TRUE(pool.layer_ready(layer).ok());
    EXPECT_EQ(pool.usable_blocks(), 4U);
    EXPECT_EQ(pool.allocate(2, 1).error().code, Code::resource_exhausted);
  }
  ASSERT_TRUE(pool.layer_ready(1).ok());
  EXPECT_FALSE(pool.resizing());
  EXPECT_EQ(pool.usable_blocks(), 6U);
  EXPECT_THAT(*pool.allocate(2, 2), ElementsAre(4, 5));
}

TEST(BlockPool, ShrinkingNamesTheLastToPreemptAndTheBlocksToMove) {
  BlockPool pool = *BlockPool::create(2, 8);
  ASSERT_TRUE(pool.allocate(7, 2).ok());  // 0, 1
  ASSERT_TRUE(pool.allocate(8, 2).ok());  // 2, 3
  ASSERT_TRUE(pool.allocate(9, 2).ok());  // 4, 5
  ASSERT_TRUE(pool.allocate(7, 1).ok());  // 6
  EXPECT_THAT(*pool.resize(5), ElementsAre(9));
  EXPECT_EQ(pool.usable_blocks(), 5U) << "at once";
  EXPECT_THAT(pool.take_moves(), IsEmpty()) << "until sequence 9 is gone no place is free";
  EXPECT_EQ(pool.allocate(9, 1).error().code, Code::failed_precondition);
  EXPECT_EQ(pool.layer_ready(0).error().code, Code::failed_precondition);
  EXPECT_THAT(pool.sequences(), ElementsAre(7, 8, 9));
  ASSERT_TRUE(pool.release(9).ok());
  EXPECT_THAT(pool.sequences(), ElementsAre(7, 8));
  EXPECT_THAT(pool.allocate(10, 1).error().message, HasSubstr("0 of 5 are free"))
      << "the one that is free is kept for the move";
  EXPECT_THAT(pool.take_moves(), ElementsAre(BlockMove{7, 6, 4}));
  EXPECT_THAT(pool.take_moves(), IsEmpty()) << "each is named once";
  EXPECT_FALSE(pool.vacated());
  ASSERT_TRUE(pool.moved(6).ok());
  EXPECT_THAT(pool.blocks_of(7), ElementsAre(0, 1, 4)) << "in the order of its tokens";
  ASSERT_TRUE(pool.vacated());
  all_layers_ready(pool, 2);
  EXPECT_FALSE(pool.resizing());
  EXPECT_EQ(pool.free_blocks(), 0U);
}

TEST(BlockPool, AReleasedSequencesMovesAreDropped) {
  BlockPool pool = *BlockPool::create(1, 4);
  ASSERT_TRUE(pool.allocate(1, 1).ok());
  ASSERT_TRUE(pool.allocate(2, 3).ok());
  ASSERT_TRUE(pool.release(1).ok());
  ASSERT_THAT(*pool.resize(3), IsEmpty());
  EXPECT_THAT(pool.take_moves(), ElementsAre(BlockMove{2, 3, 0}));
  ASSERT_TRUE(pool.release(2).ok());
  EXPECT_TRUE(pool.vacated());
  EXPECT_EQ(pool.free_blocks(), 3U);
  EXPECT_EQ(pool.moved(3).error().code, Code::not_found);
}

TEST(BlockPool, AGrowthThatIsNotThroughMayBeFollowedByAnotherSize) {
  BlockPool pool = *BlockPool::create(2, 4);
  ASSERT_TRUE(pool.resize(8).ok());
  ASSERT_TRUE(pool.layer_ready(0).ok());
  ASSERT_TRUE(pool.resize(6).ok());
  ASSERT_TRUE(pool.layer_ready(0).ok()) << "of the new size it has not been told";
  ASSERT_TRUE(pool.resize(3).ok());
  EXPECT_EQ(pool.usable_blocks(), 3U);
  EXPECT_THAT(pool.resize(5).error().message, HasSubstr("while blocks leave for 3"));
  all_layers_ready(pool, 2);
  ASSERT_TRUE(pool.resize(3).ok());
  EXPECT_FALSE(pool.resizing()) << "it has this size";
}

TEST(BlockPool, BadInputIsRefusedByNameAndChangesNothing) {
  EXPECT_EQ(BlockPool::create(0, 4).error().code, Code::invalid_argument);
  EXPECT_EQ(BlockPool::create(2, 0).error().code, Code::invalid_argument);
  BlockPool pool = *BlockPool::create(2, 4);
  EXPECT_THAT(pool.allocate(1, 5).error().message, HasSubstr("5 blocks for sequence 1; 4 of 4"));
  EXPECT_EQ(pool.release(1).error().code, Code::not_found) << "nothing was taken for it";
  EXPECT_EQ(pool.resize(0).error().code, Code::invalid_argument);
  EXPECT_EQ(pool.layer_ready(0).error().code, Code::failed_precondition) << "nothing is resized";
  ASSERT_TRUE(pool.resize(5).ok());
  EXPECT_EQ(pool.layer_ready(2).error().code, Code::invalid_argument);
  ASSERT_TRUE(pool.layer_ready(1).ok());
  EXPECT_EQ(pool.layer_ready(1).error().code, Code::invalid_argument) << "twice";
  EXPECT_EQ(pool.moved(3).error().code, Code::not_found);
  EXPECT_EQ(pool.free_blocks(), 4U);
}

// An engine that writes each block's sequence and place into it, and does what the pool asks for
// in an order of its own.
class Engine {
 public:
  explicit Engine(std::uint32_t seed) : random_(seed) {}

  void act() {
    switch (random_() % 6) {
      case 0:
      case 1:
        return allocate();
      case 2:
        return release(pick());
      case 3:
        return resize();
      case 4:
        return advance_moves();
      default:
        return advance_layers();
    }
  }
  void check() const {
    std::size_t held = 0, past_end = 0;
    for (const auto& [id, count] : held_) {
      const auto blocks = pool_.blocks_of(id);
      ASSERT_EQ(blocks.size(), count) << "sequence " << id;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        ASSERT_EQ(bytes_.at(blocks[i]), std::pair(id, i)) << "block " << blocks[i];
        past_end += blocks[i] >= pool_.usable_blocks() ? 1U : 0U;
      }
      held += blocks.size();
    }
    ASSERT_EQ(pool_.vacated(), past_end == 0);
    if (pool_.resizing()) return;
    ASSERT_EQ(held + pool_.free_blocks(), pool_.usable_blocks()) << "a block was lost";
  }
  // Does all that the last resize asks for.
  void settle() {
    while (!preempted_.empty()) release(*preempted_.begin());
    for (int i = 0; pool_.resizing() && i < 1000; ++i) advance_moves(), advance_layers();
    ASSERT_FALSE(pool_.resizing()) << "it does not come to an end";
  }

 private:
  static constexpr std::uint32_t layers = 3;

  SequenceId pick() { return random_() % 8; }
  void allocate() {
    const SequenceId id = pick();
    const auto count = static_cast<std::uint32_t>(random_() % 6);
    const std::uint32_t free = pool_.free_blocks();
    const auto blocks = pool_.allocate(id, count);
    if (!blocks.ok()) {
      ASSERT_TRUE(preempted_.contains(id) || count > free) << blocks.error().message;
      return;
    }
    for (const BlockId block : *blocks) {
      ASSERT_LT(block, pool_.usable_blocks());
      bytes_[block] = {id, held_[id]++};
    }
  }
  void release(SequenceId id) {
    std::erase_if(copying_, [&](const BlockMove& move) { return move.sequence == id; });
    ASSERT_EQ(pool_.release(id).ok(), held_.contains(id) && held_[id] > 0);
    held_.erase(id);
    preempted_.erase(id);
  }
  void resize() {
    const bool shrinks = pool_.resizing() && pool_.target_blocks() == pool_.usable_blocks();
    const auto named = pool_.resize(static_cast<std::uint32_t>(1 + random_() % 40));
    ASSERT_EQ(named.ok(), !shrinks);
    if (named.ok()) preempted_.insert(named->begin(), named->end()), told_.clear();
  }
  void advance_moves() {
    for (const BlockMove& move : pool_.take_moves()) copying_.push_back(move);
    if (copying_.empty()) return;
    const BlockMove move = copying_[random_() % copying_.size()];
    ASSERT_LT(move.to, pool_.usable_blocks());
    std::erase(copying_, move);
    bytes_[move.to] = bytes_.at(move.from);
    ASSERT_TRUE(pool_.moved(move.from).ok());
  }
  void advance_layers() {
    const auto layer = static_cast<std::uint32_t>(random_() % layers);
    const bool may = pool_.resizing() && pool_.vacated() && !told_.contains(layer);
    ASSERT_EQ(pool_.layer_ready(layer).ok(), may);
    if (may) told_.insert(layer);
    if (!pool_.resizing()) told_.clear();
  }

  std::mt19937 random_;
  BlockPool pool_ = *BlockPool::create(layers, 20);
  std::map<SequenceId, std::size_t> held_;
  std::map<BlockId, std::pair<SequenceId, std::size_t>> bytes_;
  std::set<SequenceId> preempted_;
  std::vector<BlockMove> copying_;
  std::set<std::uint32_t> told_;
};

TEST(BlockPool, NoBlockIsLostOrHasTwoHoldersWhateverTheEngineDoes) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Engine engine(seed);
    for (int i = 0; i < 1500; ++i) {
      engine.act();
      engine.check();
      if (i % 100 == 99) engine.settle();
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace aqua::layer_swap::test
