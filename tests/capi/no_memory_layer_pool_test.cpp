// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call on a layer pool or a block pool makes is made to fail. A list is then
// as it was. Of a layer pool the bytes may be lost, which every call says until a discard, from
// which on it works; one whose frames were being changed may have to be freed.
#include <iterator>

#include "tests/capi/fail_each.hpp"
#include "tests/capi/layer_engine.hpp"

namespace aqua::test {
namespace {

class NoMemoryLayerPool : public LayerPoolFixture {
 protected:
  static constexpr std::uint32_t kLayers = 4;
  // 16 blocks with three frames, 12 with four.
  static aqua_layer_pool_options tiny(std::uint32_t frames) {
    aqua_layer_pool_options options = small_layer_pool(frames);
    options.layers = kLayers;
    options.planes_per_layer = 1;
    options.device_bytes = 24 * kMib;
    return options;
  }
  NoMemoryLayerPool() { start(tiny(3)); }
  ~NoMemoryLayerPool() override { EXPECT_TRUE(works()); }

  void each(const char* what, const Call& call, const std::function<void()>& prepare = {},
            const std::function<void(bool ok)>& undo = {}) {
    const auto then = [&](bool ok) {
      if (undo) undo(ok);
      const aqua_code code = code_of(aqua_layer_pool_discard(pool()));
      if (code == AQUA_OK) return;
      EXPECT_EQ(code, AQUA_DATA_LOSS) << what;
      EXPECT_TRUE(changes_frames_ && !ok) << what;
      start(tiny(3));
    };
    fail_each(what, call, prepare, then, AQUA_DATA_LOSS, changes_frames_ ? 11 : 1);
    EXPECT_TRUE(works()) << what;
  }
  [[nodiscard]] bool works() {
    engine_->stamps().clear();
    engine_->step({}, {0, 5, 7});
    return engine_->wrong() == 0;
  }
  void begin() {
    freed(aqua_layer_pool_begin_step(pool(), engine_->stream(), blocks_, 3, blocks_, 3));
  }
  aqua_error* layers() {
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      if (aqua_error* error = aqua_layer_pool_begin_layer(pool(), layer)) return error;
      if (aqua_error* error = aqua_layer_pool_end_layer(pool(), layer)) return error;
    }
    return nullptr;
  }
  const std::uint32_t blocks_[3] = {5, 0, 7};
  bool changes_frames_ = false;
};

TEST_F(NoMemoryLayerPool, Steps) {
  std::uint64_t step = 0;
  int done = 0;
  each("aqua_layer_pool_begin_step", [&] {
    return aqua_layer_pool_begin_step(pool(), engine_->stream(), blocks_, 3, blocks_, 3);
  });
  each(
      "aqua_layer_pool_begin_layer", [&] { return aqua_layer_pool_begin_layer(pool(), 0); },
      [&] { begin(); });
  each(
      "begin_layer and end_layer", [&] { return layers(); }, [&] { begin(); });
  each(
      "aqua_layer_pool_end_step", [&] { return aqua_layer_pool_end_step(pool(), nullptr, &step); },
      [&] {
        begin();
        freed(layers());
      });
  each(
      "aqua_layer_pool_step_done", [&] { return aqua_layer_pool_step_done(pool(), step, &done); },
      [&] {
        begin();
        freed(layers());
        freed(aqua_layer_pool_end_step(pool(), nullptr, &step));
      });
  aqua_layer_pool_status told = AQUA_LAYER_POOL_STATUS_INIT;
  fail_each("aqua_layer_pool_get_status",
            [&] { return aqua_layer_pool_get_status(pool(), &told); });
}

TEST_F(NoMemoryLayerPool, Transfers) {
  const aqua_tensor tensor = tensor_for(3);
  aqua_ticket transfer{};
  const auto finish = [&](bool ok) {
    if (!ok) return;
    freed(aqua_ticket_wait(transfer));
    freed(aqua_ticket_free(transfer));
  };
  const auto out = [&] {
    return aqua_layer_pool_offload(pool(), blocks_, 3, tensor, engine_->stream(), 0, &transfer);
  };
  const auto back = [&] {
    return aqua_layer_pool_fetch(pool(), tensor, blocks_, 3, engine_->stream(), 0, &transfer);
  };
  each("aqua_layer_pool_offload", out, {}, finish);
  each("aqua_layer_pool_fetch", back, {}, finish);
  freed(out());
  int done = 0;
  fail_each("aqua_ticket_wait", [&] { return aqua_ticket_wait(transfer); });
  fail_each("aqua_ticket_done", [&] { return aqua_ticket_done(transfer, &done); });
  freed(aqua_ticket_free(transfer));
  freed(aqua_tensor_free(tensor));
}

TEST_F(NoMemoryLayerPool, Frames) {
  changes_frames_ = true;
  const auto three = [&] { freed(aqua_layer_pool_resize(pool(), 3)); };
  each(
      "aqua_layer_pool_resize", [&] { return aqua_layer_pool_resize(pool(), 4); }, three);
  three();
  aqua_block_pool list{};
  int done = 0;
  each(
      "aqua_layer_pool_resize_with",
      [&] { return aqua_layer_pool_resize_with(pool(), 4, list, engine_->stream(), &done); },
      [&] {
        three();
        freed(aqua_block_pool_create(kLayers, 16, &list));
        std::uint32_t blocks[14];
        freed(aqua_block_pool_allocate(list, 1, 4, blocks));
        freed(aqua_block_pool_allocate(list, 2, std::size(blocks) - 4, blocks));
        freed(aqua_block_pool_release(list, 1));
      },
      [&](bool) { freed(aqua_block_pool_free(list)); });
  three();
  changes_frames_ = false;
  each("aqua_layer_pool_discard", [&] { return aqua_layer_pool_discard(pool()); });
}

TEST_F(NoMemoryLayerPool, PoolsAndLists) {
  aqua_layer_pool made{};
  const aqua_layer_pool_options options = tiny(3);
  fail_each(
      "aqua_layer_pool_create", [&] { return aqua_layer_pool_create(runtime_, &options, &made); },
      {},
      [&](bool ok) {
        if (ok) freed(aqua_layer_pool_free(made));
      });
  aqua_block_pool list{};
  fail_each(
      "aqua_block_pool_create", [&] { return aqua_block_pool_create(2, 8, &list); }, {},
      [&](bool ok) {
        if (ok) freed(aqua_block_pool_free(list));
      });
}

class NoMemoryBlockPool : public ::testing::Test {
 protected:
  void make() {
    freed(aqua_block_pool_create(1, 8, &list_));
    freed(aqua_block_pool_allocate(list_, 1, 3, blocks_));
    freed(aqua_block_pool_allocate(list_, 2, 2, blocks_));
  }
  // Its blocks are all there: free, or a sequence's.
  void expect_all_blocks(bool ok, std::uint32_t free_after) {
    aqua_block_pool_info info = AQUA_BLOCK_POOL_INFO_INIT;
    freed(aqua_block_pool_get_info(list_, &info));
    EXPECT_EQ(info.free_blocks, ok ? free_after : 3U);
    std::size_t count = 0;
    for (const std::uint64_t sequence : {1U, 2U, 3U}) {
      freed(aqua_block_pool_get_blocks(list_, sequence, nullptr, 0, &count));
      EXPECT_EQ(code_of(aqua_block_pool_release(list_, sequence)),
                count == 0 ? AQUA_NOT_FOUND : AQUA_OK);
    }
    freed(aqua_block_pool_get_info(list_, &info));
    EXPECT_EQ(info.free_blocks, info.usable_blocks);
    EXPECT_EQ(info.vacated, 1U);
    freed(aqua_block_pool_free(list_));
  }
  aqua_block_pool list_{};
  std::uint32_t blocks_[8] = {};
  std::uint64_t named_[8] = {};
  aqua_block_move moves_[8] = {};
  std::size_t count_ = 0;
};

TEST_F(NoMemoryBlockPool, AListIsAsItWas) {
  const auto prepare = [&] { make(); };
  const auto leaves = [&](std::uint32_t free_after) {
    return [this, free_after](bool ok) { expect_all_blocks(ok, free_after); };
  };
  fail_each(
      "allocate, a new sequence", [&] { return aqua_block_pool_allocate(list_, 3, 2, blocks_); },
      prepare, leaves(1));
  fail_each(
      "allocate, more", [&] { return aqua_block_pool_allocate(list_, 1, 3, blocks_); }, prepare,
      leaves(0));
  fail_each(
      "aqua_block_pool_release", [&] { return aqua_block_pool_release(list_, 1); }, prepare,
      leaves(6));
  fail_each(
      "aqua_block_pool_get_blocks",
      [&] { return aqua_block_pool_get_blocks(list_, 1, blocks_, 8, &count_); }, prepare,
      leaves(3));
  fail_each(
      "aqua_block_pool_get_sequences",
      [&] { return aqua_block_pool_get_sequences(list_, named_, 8, &count_); }, prepare, leaves(3));
  fail_each(
      "aqua_block_pool_resize",
      [&] { return aqua_block_pool_resize(list_, 4, named_, 8, &count_); }, prepare, leaves(0));
}

TEST_F(NoMemoryBlockPool, MovesAreTakenOrNot) {
  fail_each(
      "aqua_block_pool_take_moves",
      [&] { return aqua_block_pool_take_moves(list_, moves_, 8, &count_); },
      [&] {
        make();
        freed(aqua_block_pool_release(list_, 1));
        freed(aqua_block_pool_resize(list_, 3, named_, 8, &count_));
        count_ = 0;
      },
      [&](bool) {
        if (count_ == 0) freed(aqua_block_pool_take_moves(list_, moves_, 8, &count_));
        EXPECT_EQ(count_, 2U);
        for (std::size_t i = 0; i < count_; ++i)
          freed(aqua_block_pool_moved(list_, moves_[i].from));
        freed(aqua_block_pool_layer_ready(list_, 0));
        freed(aqua_block_pool_free(list_));
      });
}

}  // namespace
}  // namespace aqua::test
