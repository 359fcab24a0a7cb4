// SPDX-License-Identifier: Apache-2.0
// LayerPool with an engine's list of blocks: frames change by hand and by what steps measure, the
// list follows, and no byte of a sequence is wrong.
#include <map>

#include "aqua/layer_swap/block_pool.hpp"
#include "tests/systems/layer_swap/act/swap_engine.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using layer_swap::BlockPool;
using layer_swap::SequenceId;
using test::SwapEngine;
using Blocks = SwapEngine::Blocks;
using std::chrono::milliseconds;

// Six layers of one plane in 12 slabs: 8 blocks with six frames or five, 12 with four, 16 with
// three.
const LayerPoolOptions kOptions{
    .layers = 6, .planes_per_layer = 1, .block_bytes = 512_KiB, .device_bytes = 24_MiB};

class LayerPoolAdapt : public ::testing::Test {
 protected:
  void TearDown() override {
    swapped_.clear();
    engine_.reset();
  }
  void open(std::uint32_t frames, const char* goal, std::uint64_t link_bytes_per_second = 0,
            std::size_t host_bytes = 160_MiB) {
    auto opened = Runtime::open({.device = "emu:0",
                                 .coordinator = "none",
                                 .host_bytes = host_bytes,
                                 .emulated = {.total_bytes = 32_MiB,
                                              .hostile = true,
                                              .link_bytes_per_second = link_bytes_per_second}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runtime_ = std::move(*opened);
    LayerPoolOptions options = kOptions;
    options.frames = frames;
    options.goal = goal;
    options.on_resize = [this](const LayerPoolResize& news) { follow(news); };
    engine_ = std::make_unique<SwapEngine>(*runtime_, options);
    blocks_.emplace(*BlockPool::create(6, pool().usable_blocks()));
  }
  [[nodiscard]] LayerPool& pool() { return engine_->pool(); }
  void follow(const LayerPoolResize& news) {
    news_.push_back(news);
    engine_->moved(news.moved);
    if (!gives_back_) return;
    for (const SequenceId sequence : news.preempt) swap_out(sequence);
  }
  void swap_out(SequenceId sequence) {
    const Blocks of = blocks_->blocks_of(sequence);
    Swapped away{*runtime_->allocate({.bytes = pool().packed_bytes(of.size())}),
                 engine_->stamps_of(of)};
    ASSERT_TRUE(pool().offload(of, away.tensor, engine_->stream()).ok());
    swapped_.emplace(sequence, std::move(away));
    engine_->forget(of);
    ASSERT_TRUE(blocks_->release(sequence).ok());
  }
  void swap_in(SequenceId sequence) {
    Swapped& away = swapped_.at(sequence);
    const Blocks of = *blocks_->allocate(sequence, static_cast<std::uint32_t>(away.stamps.size()));
    ASSERT_TRUE(pool().fetch(away.tensor, of, engine_->stream()).ok());
    engine_->set_stamps(of, away.stamps);
  }
  void come(SequenceId sequence, std::uint32_t count) {
    const auto of = blocks_->allocate(sequence, count);
    ASSERT_TRUE(of.ok()) << of.error().message;
    engine_->must_step(*of);
  }
  void read_all() {
    engine_->must_step({});
    EXPECT_EQ(engine_->wrong(), 0U);
  }
  [[nodiscard]] std::uint32_t used() const {
    return blocks_->usable_blocks() - blocks_->free_blocks();
  }
  // Steps of sequences of two blocks, which come in as long as fewer blocks are used than wanted,
  // until `enough`. Each reads as many of the blocks as it is told.
  template <typename Enough>
  void serve(std::uint32_t wanted, std::size_t reads, const Enough& enough) {
    for (int i = 0; i < 400 && !enough(); ++i) {
      Blocks fresh;
      while (used() + 2 <= wanted && blocks_->free_blocks() >= 2) {
        const Blocks of = *blocks_->allocate(next_++, 2);
        fresh.insert(fresh.end(), of.begin(), of.end());
      }
      Blocks read = engine_->stamped();
      if (read.size() > reads) read.resize(reads);
      const auto step = engine_->step(
          read, fresh, {.tokens = used() / 2, .blocks_used = used(), .blocks_wanted = wanted});
      ASSERT_TRUE(step.ok()) << step.error().message;
      engine_->settle();
      const auto there = pool().adapt(*blocks_, engine_->stream());
      ASSERT_TRUE(there.ok() && *there);
      ASSERT_EQ(blocks_->usable_blocks(), pool().usable_blocks());
    }
    EXPECT_TRUE(enough()) << pool().status().frames << " frames";
  }

  struct Swapped {
    AquaTensor tensor;
    Blocks stamps;
  };
  std::optional<Runtime> runtime_;
  std::unique_ptr<SwapEngine> engine_;
  std::optional<BlockPool> blocks_;
  std::map<SequenceId, Swapped> swapped_;
  std::vector<LayerPoolResize> news_;
  bool gives_back_ = true;
  SequenceId next_ = 100;
};

TEST_F(LayerPoolAdapt, ShrinkingPreemptsTheLastAndMovesTheOthersBlocks) {
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
  EXPECT_EQ(news_[1].moved, (std::vector<layer_swap::BlockMove>{{3, 12, 0}}));
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
TEST_F(LayerPoolAdapt, BlocksMoveOnlyToPlacesThatHaveBeenCopiedFrom) {
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

TEST_F(LayerPoolAdapt, AChangeThatHasBegunWaitsForItsBlocksAndIsCompletedFirst) {
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

TEST_F(LayerPoolAdapt, WithoutRoomForWhatIsMovedNoSequenceIsPreempted) {
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
TEST_F(LayerPoolAdapt, ADiscardEndsTheChangeUnderWay) {
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

TEST_F(LayerPoolAdapt, AListThatGivesUpBlocksByItselfIsCompletedFirst) {
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
TEST_F(LayerPoolAdapt, NoFrameChangesUnderACopyOfASequence) {
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

TEST_F(LayerPoolAdapt, FramesGiveWayToBlocksThatAreWantedAndComeBack) {
  open(6, "capacity");
  engine_->set_compute(milliseconds(20));
  EXPECT_EQ(pool().propose(), 6U);
  serve(40, 2, [&] { return pool().status().frames < 5; });
  EXPECT_GT(pool().usable_blocks(), 8U);
  serve(40, 2, [&] { return used() > 8; });
  EXPECT_EQ(engine_->wrong(), 0U);
  for (SequenceId sequence = 100; sequence < next_; ++sequence) {
    engine_->forget(blocks_->blocks_of(sequence));
    (void)blocks_->release(sequence);
  }
  engine_->set_compute(milliseconds(1));
  serve(4, 2, [&] { return pool().status().frames == 6; });
  EXPECT_EQ(pool().status().away_bytes, 0U);
  EXPECT_EQ(engine_->wrong(), 0U);
}

TEST_F(LayerPoolAdapt, WhereTheLinkIsSlowNothingIsTried) {
  open(6, "capacity", 10'000'000);
  engine_->set_compute(milliseconds(1));
  const std::uint64_t enough = pool().status().steps + 8;
  serve(40, 2, [&] { return pool().status().steps == enough; });
  EXPECT_EQ(pool().status().frames, 6U);
  EXPECT_TRUE(news_.empty());
}

TEST_F(LayerPoolAdapt, WhatLayersWaitForAndTheLinksTimeAreMeasured) {
  open(6, "capacity", 25'000'000);
  ASSERT_TRUE(pool().resize(4).ok());
  EXPECT_EQ(pool().status().reason, "applied");
  const Blocks some{0, 1};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine_->step(i == 0 ? Blocks{} : some, some).ok());
  engine_->settle();
  ASSERT_TRUE(*pool().step_done(1));
  EXPECT_EQ(pool().propose(), 4U);
  const LayerPoolStatus status = pool().status();
  EXPECT_GT(status.stall_seconds, 0);
  EXPECT_GT(status.compute_seconds, 0);
  EXPECT_GT(status.fetch_seconds, 0);
  EXPECT_GT(status.write_seconds, 0.5 * 2 * static_cast<double>(status.written_bytes) / 3 / 25e6)
      << "of two steps at least";
}

TEST_F(LayerPoolAdapt, WithoutRoomForWhatWouldBeAwayItIsAskedOnce) {
  open(6, "capacity", 0, 12_MiB);
  engine_->set_compute(milliseconds(20));
  int refused = 0;
  for (int i = 0; i < 24; ++i) {
    const auto step = engine_->step({}, {}, {.tokens = 4, .blocks_used = 8, .blocks_wanted = 40});
    ASSERT_TRUE(step.ok());
    engine_->settle();
    const auto there = pool().adapt(*blocks_, engine_->stream());
    if (there.ok()) continue;
    EXPECT_EQ(there.error().code, Code::resource_exhausted) << there.error().message;
    refused += 1;
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(pool().status().frames, 6U);
}

TEST_F(LayerPoolAdapt, AListOfOtherBlocksIsRefused) {
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
}  // namespace aqua
