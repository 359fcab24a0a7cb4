// SPDX-License-Identifier: Apache-2.0
// Layer pools over the C ABI: steps, sequences, frames that change with the engine's list. No byte
// is wrong.
#include <numeric>
#include <thread>

#include "tests/capi/layer_engine.hpp"

namespace aqua::test {
namespace {

class CapiLayerPool : public LayerPoolFixture {};

TEST_F(CapiLayerPool, StepsThroughStreamedLayersKeepEveryByte) {
  LayerEngine& engine = start(small_layer_pool(3));
  ASSERT_EQ(usable(), 16U);
  Blocks all(16);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(engine.step({}, all), 1U);
  for (const std::uint32_t block : {3U, 0U, 15U}) engine.step(all, {block});
  EXPECT_EQ(engine.wrong(), 0U);
  EXPECT_TRUE(engine.done(5));
  const aqua_layer_pool_status told = status();
  EXPECT_EQ(told.frames, 3U);
  EXPECT_EQ(told.usable_blocks, 16U);
  EXPECT_GT(told.streamed_layers, 2U);
  EXPECT_EQ(told.steps, 5U);
  EXPECT_GT(told.fetched_bytes, 0U);
  EXPECT_GT(told.written_bytes, 0U);
  EXPECT_EQ(told.away_bytes, told.streamed_layers * 16 * kMib);
  EXPECT_EQ(told.away_peer_bytes, 0U);
  EXPECT_EQ(told.proposed_frames, 0U);
  EXPECT_STREQ(told.reason, "");
}

TEST_F(CapiLayerPool, WithFifoALayersPlanesAreThoseOfTheFrameItIsIn) {
  aqua_layer_pool_options options = small_layer_pool(4);
  options.schedule = "fifo";
  LayerEngine& engine = start(options);
  void* plane = nullptr;
  EXPECT_EQ(code_of(aqua_layer_pool_get_plane(pool(), 0, 1, &plane)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_layer_pool_get_plane(pool(), 5, 1, &plane)), AQUA_FAILED_PRECONDITION)
      << "it is away at first";
  const Blocks some{0, 4, 11};
  engine.step({}, some);
  for (int i = 0; i < 4; ++i) engine.step(some, {4});
  EXPECT_EQ(engine.wrong(), 0U);
  EXPECT_EQ(status().streamed_layers, 6U);
}

TEST_F(CapiLayerPool, FramesChangeByHandAndBlocksStay) {
  LayerEngine& engine = start(small_layer_pool());
  std::uint32_t blocks = 0;
  ASSERT_EQ(code_of(aqua_layer_pool_usable_blocks_with(pool(), 3, &blocks)), AQUA_OK);
  EXPECT_EQ(blocks, 16U);
  ASSERT_EQ(code_of(aqua_layer_pool_usable_blocks_with(pool(), 2, &blocks)), AQUA_OK);
  EXPECT_EQ(blocks, 0U);
  EXPECT_EQ(usable(), 8U);
  engine.step({}, {0, 4, 7});
  ASSERT_EQ(code_of(aqua_layer_pool_resize(pool(), 4)), AQUA_OK);
  EXPECT_EQ(usable(), 12U);
  engine.step(engine.stamped(), {3});
  EXPECT_EQ(engine.wrong(), 0U);
  ASSERT_EQ(code_of(aqua_layer_pool_resize(pool(), 6)), AQUA_OK);
  EXPECT_EQ(engine.wrong(), 0U);
  EXPECT_EQ(status().resizes, 2U);
}

TEST_F(CapiLayerPool, ASequenceGoesToATensorAndComesBackInOtherBlocks) {
  LayerEngine& engine = start(small_layer_pool(3));
  engine.step({}, {2, 9, 5});
  std::size_t bytes = 0;
  ASSERT_EQ(code_of(aqua_layer_pool_packed_bytes(pool(), 3, &bytes)), AQUA_OK);
  EXPECT_EQ(bytes, 3 * 6 * kMib);
  const aqua_tensor tensor = tensor_for(3);
  const std::uint32_t from[] = {2, 9, 5}, to[] = {14, 0, 11};
  aqua_ticket out{}, back{};
  ASSERT_EQ(code_of(aqua_layer_pool_offload(pool(), from, 3, tensor, engine.stream(), 0, &out)),
            AQUA_OK);
  ASSERT_EQ(code_of(aqua_layer_pool_fetch(pool(), tensor, to, 3, engine.stream(), 0, &back)),
            AQUA_OK);
  const std::uint64_t stamp = engine.stamps().at(2);
  engine.stamps() = {{14, stamp}, {0, stamp}, {11, stamp}};
  EXPECT_EQ(engine.wrong(), 0U);
  EXPECT_EQ(code_of(aqua_ticket_wait(out)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_ticket_wait(back)), AQUA_OK);
  int done = 0;
  EXPECT_EQ(code_of(aqua_ticket_done(back, &done)), AQUA_OK);
  EXPECT_EQ(done, 1);
  // Where nobody asks; and an empty one.
  EXPECT_EQ(code_of(aqua_layer_pool_offload(pool(), to, 3, tensor, engine.stream(), 0, nullptr)),
            AQUA_OK);
  aqua_ticket none{};
  ASSERT_EQ(code_of(aqua_layer_pool_fetch(pool(), tensor, nullptr, 0, 0, 0, &none)), AQUA_OK);
  EXPECT_EQ(code_of(aqua_ticket_done(none, &done)), AQUA_OK);
  for (const aqua_ticket each : {out, back, none}) {
    EXPECT_EQ(code_of(aqua_ticket_free(each)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_ticket_wait(each)), AQUA_NOT_FOUND);
  }
  EXPECT_EQ(code_of(aqua_tensor_free(tensor)), AQUA_OK);
  EXPECT_EQ(engine.wrong(), 0U);
}

TEST_F(CapiLayerPool, ATransferMayBeAskedAfterItsPoolAndItsRuntimeAreGone) {
  LayerEngine& engine = start(small_layer_pool(3));
  const aqua_runtime other = open("emu:10");
  aqua_ticket out{};
  {
    LayerEngine short_lived(other, small_layer_pool(3));
    short_lived.step({}, {1});
    aqua_tensor_options wanted = AQUA_TENSOR_OPTIONS_INIT;
    wanted.bytes = 6 * kMib;
    aqua_tensor tensor{};
    ASSERT_EQ(code_of(aqua_tensor_allocate(other, &wanted, &tensor)), AQUA_OK);
    const std::uint32_t block = 1;
    ASSERT_EQ(code_of(aqua_layer_pool_offload(short_lived.pool(), &block, 1, tensor,
                                              short_lived.stream(), 0, &out)),
              AQUA_OK);
    EXPECT_EQ(code_of(aqua_layer_pool_offload(engine.pool(), &block, 1, tensor, 0, 0, nullptr)),
              AQUA_INVALID_ARGUMENT)
        << "a tensor of another runtime";
    EXPECT_EQ(code_of(aqua_tensor_free(tensor)), AQUA_OK);
  }
  ASSERT_EQ(code_of(aqua_runtime_close(other)), AQUA_OK);
  int done = 0;
  EXPECT_EQ(code_of(aqua_ticket_done(out, &done)), AQUA_OK);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(code_of(aqua_ticket_free(out)), AQUA_OK);
}

// An engine whose list follows the pool's frames.
struct Follower {
  LayerEngine* engine = nullptr;
  aqua_runtime runtime{};
  aqua_block_pool list{};
  std::vector<std::uint64_t> preempted{};
  std::vector<aqua_block_move> moved{};
  std::vector<std::uint32_t> sizes{};  // when done
  aqua_tensor tensor{};                // of the one that was preempted
  std::uint64_t stamp = 0;

  [[nodiscard]] Blocks blocks_of(std::uint64_t sequence) const {
    Blocks blocks(16);
    std::size_t count = 0;
    EXPECT_EQ(code_of(aqua_block_pool_get_blocks(list, sequence, blocks.data(), 16, &count)),
              AQUA_OK);
    blocks.resize(count);
    return blocks;
  }
  void come(std::uint64_t sequence, std::uint32_t count) {
    Blocks blocks(count);
    ASSERT_EQ(code_of(aqua_block_pool_allocate(list, sequence, count, blocks.data())), AQUA_OK);
    engine->step(engine->stamped(), blocks);
  }
  void swap_out(std::uint64_t sequence) {
    const Blocks blocks = blocks_of(sequence);
    aqua_tensor_options wanted = AQUA_TENSOR_OPTIONS_INIT;
    ASSERT_EQ(code_of(aqua_layer_pool_packed_bytes(engine->pool(), blocks.size(), &wanted.bytes)),
              AQUA_OK);
    ASSERT_EQ(code_of(aqua_tensor_allocate(runtime, &wanted, &tensor)), AQUA_OK);
    ASSERT_EQ(code_of(aqua_layer_pool_offload(engine->pool(), blocks.data(), blocks.size(), tensor,
                                              engine->stream(), 0, nullptr)),
              AQUA_OK);
    stamp = engine->stamps().at(blocks[0]);
    for (const std::uint32_t block : blocks) engine->stamps().erase(block);
    ASSERT_EQ(code_of(aqua_block_pool_release(list, sequence)), AQUA_OK);
  }
  void swap_in(std::uint64_t sequence, std::uint32_t count) {
    Blocks blocks(count);
    ASSERT_EQ(code_of(aqua_block_pool_allocate(list, sequence, count, blocks.data())), AQUA_OK);
    ASSERT_EQ(code_of(aqua_layer_pool_fetch(engine->pool(), tensor, blocks.data(), count,
                                            engine->stream(), 0, nullptr)),
              AQUA_OK);
    for (const std::uint32_t block : blocks) engine->stamps()[block] = stamp;
    EXPECT_EQ(code_of(aqua_tensor_free(tensor)), AQUA_OK);
  }
  static void on_resize(void* user, const aqua_layer_pool_change* change) {
    auto& self = *static_cast<Follower*>(user);
    EXPECT_EQ(change->struct_size, sizeof *change);
    for (std::size_t i = 0; i < change->preempt_count; ++i) {
      self.preempted.push_back(change->preempt[i]);
      self.swap_out(change->preempt[i]);
    }
    for (std::size_t i = 0; i < change->moved_count; ++i) {
      const aqua_block_move& move = change->moved[i];
      self.moved.push_back(move);
      auto& stamps = self.engine->stamps();
      stamps[move.to] = stamps.at(move.from);
      stamps.erase(move.from);
    }
    if (change->done != 0) self.sizes.push_back(change->usable_blocks);
  }
};

class CapiLayerPoolWithAList : public LayerPoolFixture {
 protected:
  void begin(std::uint32_t frames, const char* goal = nullptr) {
    aqua_layer_pool_options options = small_layer_pool(frames);
    options.goal = goal;
    options.user = &follower_;
    options.on_resize = follows_ ? Follower::on_resize : nullptr;
    follower_.engine = &start(options);
    follower_.runtime = runtime_;
    ASSERT_EQ(code_of(aqua_block_pool_create(6, usable(), &follower_.list)), AQUA_OK);
  }
  ~CapiLayerPoolWithAList() override {
    EXPECT_EQ(code_of(aqua_block_pool_free(follower_.list)), AQUA_OK);
  }
  [[nodiscard]] bool resize(std::uint32_t frames) {
    int done = -1;
    EXPECT_EQ(code_of(aqua_layer_pool_resize_with(pool(), frames, follower_.list, engine_->stream(),
                                                  &done)),
              AQUA_OK);
    return done == 1;
  }
  Follower follower_;
  bool follows_ = true;
};

TEST_F(CapiLayerPoolWithAList, FewerBlocksPreemptTheLastAndMoveTheOthers) {
  begin(3);
  follower_.come(1, 3);
  follower_.come(2, 10);
  follower_.come(3, 3);
  for (const std::uint32_t block : follower_.blocks_of(1)) engine_->stamps().erase(block);
  ASSERT_EQ(code_of(aqua_block_pool_release(follower_.list, 1)), AQUA_OK);
  ASSERT_TRUE(resize(4));
  EXPECT_EQ(follower_.preempted, std::vector<std::uint64_t>{3});
  ASSERT_EQ(follower_.moved.size(), 1U);
  EXPECT_EQ(follower_.moved[0].sequence, 2U);
  EXPECT_EQ(follower_.moved[0].from, 12U);
  EXPECT_EQ(follower_.moved[0].to, 0U);
  EXPECT_EQ(follower_.blocks_of(2).back(), 0U);
  EXPECT_EQ(engine_->wrong(), 0U);
  ASSERT_TRUE(resize(3));
  EXPECT_EQ(follower_.sizes, (std::vector<std::uint32_t>{12, 16}));
  follower_.swap_in(3, 3);
  EXPECT_EQ(engine_->wrong(), 0U);
}

TEST_F(CapiLayerPoolWithAList, WithAGoalItProposesAndAdapts) {
  begin(0, "capacity");
  follower_.come(1, 8);
  EXPECT_EQ(engine_->wrong(), 0U);
  std::uint32_t frames = 0;
  ASSERT_EQ(code_of(aqua_layer_pool_propose(pool(), &frames)), AQUA_OK);
  EXPECT_EQ(frames, 6U);
  int done = 0;
  ASSERT_EQ(code_of(aqua_layer_pool_adapt(pool(), follower_.list, engine_->stream(), &done)),
            AQUA_OK);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(status().proposed_frames, 6U);
  EXPECT_STREQ(status().reason, "start");
}

TEST_F(CapiLayerPoolWithAList, ADiscardEmptiesEveryBlockAndEndsTheStep) {
  begin(3);
  follower_.come(1, 4);
  ASSERT_EQ(code_of(aqua_layer_pool_begin_step(pool(), engine_->stream(), nullptr, 0, nullptr, 0)),
            AQUA_OK);
  EXPECT_EQ(code_of(aqua_layer_pool_resize(pool(), 4)), AQUA_FAILED_PRECONDITION);
  ASSERT_EQ(code_of(aqua_layer_pool_discard(pool())), AQUA_OK);
  int done = 0;
  EXPECT_EQ(code_of(aqua_layer_pool_step_done(pool(), 1, &done)), AQUA_DATA_LOSS);
  engine_->stamps().clear();
  ASSERT_EQ(code_of(aqua_block_pool_release(follower_.list, 1)), AQUA_OK);
  follower_.come(2, 16);
  EXPECT_EQ(engine_->wrong(), 0U);
}

// Another thread's calls wait for their turn.
TEST_F(CapiLayerPoolWithAList, CallsOfSeveralThreadsComeOneAfterTheOther) {
  follows_ = false;  // the threads give back what is preempted
  begin(3);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::uint64_t sequence = 100; sequence < 103; ++sequence) {
    threads.emplace_back([&, sequence] {
      while (!stop) {
        std::uint32_t block = 0;
        const aqua_code given =
            code_of(aqua_block_pool_allocate(follower_.list, sequence, 1, &block));
        EXPECT_TRUE(given == AQUA_OK || given == AQUA_RESOURCE_EXHAUSTED ||
                    given == AQUA_FAILED_PRECONDITION);
        const aqua_code back = code_of(aqua_block_pool_release(follower_.list, sequence));
        EXPECT_TRUE(back == AQUA_OK || back == AQUA_NOT_FOUND);
        aqua_layer_pool_status told = AQUA_LAYER_POOL_STATUS_INIT;
        EXPECT_EQ(code_of(aqua_layer_pool_get_status(pool(), &told)), AQUA_OK);
      }
    });
  }
  follower_.engine->step({}, {});
  for (const std::uint32_t frames : {4U, 3U, 6U, 3U}) {
    int done = 0;
    while (done == 0) {
      ASSERT_EQ(code_of(aqua_layer_pool_resize_with(pool(), frames, follower_.list,
                                                    engine_->stream(), &done)),
                AQUA_OK);
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  aqua_block_pool_info info = AQUA_BLOCK_POOL_INFO_INIT;
  ASSERT_EQ(code_of(aqua_block_pool_get_info(follower_.list, &info)), AQUA_OK);
  EXPECT_EQ(info.free_blocks, 16U);
}

}  // namespace
}  // namespace aqua::test
