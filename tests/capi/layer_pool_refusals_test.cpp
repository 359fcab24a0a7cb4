// SPDX-License-Identifier: Apache-2.0
// What the C ABI of layer pools and their lists refuses: the exact code, and nothing changed.
#include <array>
#include <cstring>

#include "tests/capi/layer_engine.hpp"

namespace aqua::test {
namespace {

constexpr aqua_code kInvalid = AQUA_INVALID_ARGUMENT;
constexpr aqua_code kEarly = AQUA_FAILED_PRECONDITION;

class LayerPoolCalls : public LayerPoolFixture {
 protected:
  LayerPoolCalls() {
    start(small_layer_pool(3)).step({}, {0, 1, 2});
    EXPECT_EQ(code_of(aqua_block_pool_create(6, 16, &list_)), AQUA_OK);
    tensor_ = tensor_for(1);
  }
  ~LayerPoolCalls() override {
    EXPECT_EQ(engine_->wrong(), 0U) << "what was refused has changed nothing";
    EXPECT_EQ(code_of(aqua_tensor_free(tensor_)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_block_pool_free(list_)), AQUA_OK);
  }
  // Every call on a layer pool, with arguments that would do for one that is good.
  std::vector<aqua_code> all_on(aqua_layer_pool pool) {
    const std::uint32_t block = 0;
    return {
        code_of(aqua_layer_pool_get_plane(pool, 0, 0, &address_)),
        code_of(aqua_layer_pool_usable_blocks(pool, &number_)),
        code_of(aqua_layer_pool_usable_blocks_with(pool, 3, &number_)),
        code_of(aqua_layer_pool_packed_bytes(pool, 1, &bytes_)),
        code_of(aqua_layer_pool_get_status(pool, &status_)),
        code_of(aqua_layer_pool_begin_step(pool, 0, nullptr, 0, nullptr, 0)),
        code_of(aqua_layer_pool_begin_layer(pool, 0)),
        code_of(aqua_layer_pool_end_layer(pool, 0)),
        code_of(aqua_layer_pool_end_step(pool, nullptr, &step_)),
        code_of(aqua_layer_pool_step_done(pool, 1, &done_)),
        code_of(aqua_layer_pool_offload(pool, &block, 1, tensor_, 0, 0, &ticket_)),
        code_of(aqua_layer_pool_fetch(pool, tensor_, &block, 1, 0, 0, &ticket_)),
        code_of(aqua_layer_pool_resize(pool, 3)),
        code_of(aqua_layer_pool_resize_with(pool, 3, list_, 0, &done_)),
        code_of(aqua_layer_pool_propose(pool, &number_)),
        code_of(aqua_layer_pool_adapt(pool, list_, 0, &done_)),
        code_of(aqua_layer_pool_discard(pool)),
        code_of(aqua_layer_pool_free(pool)),
    };
  }
  std::vector<aqua_code> all_on(aqua_block_pool list) {
    aqua_block_pool_info info = AQUA_BLOCK_POOL_INFO_INIT;
    return {
        code_of(aqua_block_pool_get_info(list, &info)),
        code_of(aqua_block_pool_allocate(list, 1, 1, &number_)),
        code_of(aqua_block_pool_release(list, 1)),
        code_of(aqua_block_pool_get_blocks(list, 1, nullptr, 0, &bytes_)),
        code_of(aqua_block_pool_get_sequences(list, nullptr, 0, &bytes_)),
        code_of(aqua_block_pool_resize(list, 1, nullptr, 0, &bytes_)),
        code_of(aqua_block_pool_take_moves(list, nullptr, 0, &bytes_)),
        code_of(aqua_block_pool_moved(list, 0)),
        code_of(aqua_block_pool_layer_ready(list, 0)),
        code_of(aqua_layer_pool_resize_with(pool(), 4, list, 0, &done_)),
        code_of(aqua_layer_pool_adapt(pool(), list, 0, &done_)),
        code_of(aqua_block_pool_free(list)),
    };
  }
  template <typename H>
  void expect_all(H handle, aqua_code code) {
    const auto codes = all_on(handle);
    EXPECT_EQ(codes, std::vector<aqua_code>(codes.size(), code));
  }
  aqua_code offload(const Blocks& blocks, aqua_tensor to, aqua_stream stream = 0,
                    std::size_t offset = 0) {
    return code_of(aqua_layer_pool_offload(pool(), blocks.data(), blocks.size(), to, stream, offset,
                                           &ticket_));
  }

  aqua_block_pool list_{};
  aqua_tensor tensor_{};
  void* address_ = nullptr;
  std::uint32_t number_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t step_ = 0;
  int done_ = 77;
  aqua_ticket ticket_{};
  aqua_layer_pool_status status_ = AQUA_LAYER_POOL_STATUS_INIT;
};

TEST_F(LayerPoolCalls, HandlesThatAreNone) {
  expect_all(aqua_layer_pool{}, kInvalid);
  expect_all(aqua_block_pool{}, kInvalid);
  expect_all(aqua_layer_pool{tensor_.id}, kInvalid);
  expect_all(aqua_block_pool{pool().id}, kInvalid);
  aqua_block_pool freed{};
  ASSERT_EQ(code_of(aqua_block_pool_create(6, 16, &freed)), AQUA_OK);
  ASSERT_EQ(code_of(aqua_block_pool_free(freed)), AQUA_OK);
  expect_all(freed, AQUA_NOT_FOUND);
  EXPECT_EQ(offload({0}, {}), kInvalid);
  EXPECT_EQ(offload({0}, aqua_tensor{pool().id}), kInvalid);
  EXPECT_EQ(done_, 77) << "written only on success";
  EXPECT_EQ(status().frames, 3U);
  aqua_error* error = aqua_tensor_free(aqua_tensor{pool().id});
  EXPECT_NE(std::strstr(aqua_error_message(error), "layer pool"), nullptr);
  EXPECT_EQ(code_of(error), kInvalid);
}

TEST_F(LayerPoolCalls, AFreedPoolAnswersNotFound) {
  const aqua_layer_pool freed = pool();
  engine_->settle();
  ASSERT_EQ(code_of(aqua_layer_pool_free(freed)), AQUA_OK);
  expect_all(freed, AQUA_NOT_FOUND);
  start(small_layer_pool(3));
}

TEST_F(LayerPoolCalls, NullWhereSomethingIsWanted) {
  const aqua_layer_pool_options options = small_layer_pool();
  aqua_layer_pool made{};
  EXPECT_EQ(code_of(aqua_layer_pool_create(runtime_, nullptr, &made)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_create(runtime_, &options, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_get_plane(pool(), 0, 0, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_usable_blocks(pool(), nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_usable_blocks_with(pool(), 3, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_packed_bytes(pool(), 1, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_get_status(pool(), nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_begin_step(pool(), 0, nullptr, 1, nullptr, 0)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_begin_step(pool(), 0, nullptr, 0, nullptr, 1)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_end_step(pool(), nullptr, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_step_done(pool(), 1, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_offload(pool(), nullptr, 1, tensor_, 0, 0, &ticket_)),
            kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_fetch(pool(), tensor_, nullptr, 1, 0, 0, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_resize_with(pool(), 4, list_, 0, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_adapt(pool(), list_, 0, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_propose(pool(), nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_create(1, 1, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_get_info(list_, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_allocate(list_, 1, 1, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_get_blocks(list_, 1, nullptr, 1, &bytes_)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_get_blocks(list_, 1, nullptr, 0, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_get_sequences(list_, nullptr, 1, &bytes_)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_get_sequences(list_, nullptr, 0, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_resize(list_, 1, nullptr, 0, nullptr)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_take_moves(list_, nullptr, 0, nullptr)), kInvalid);
  EXPECT_EQ(status().frames, 3U);
}

TEST_F(LayerPoolCalls, StructsOfAnotherSize) {
  aqua_layer_pool made{};
  aqua_layer_pool_options options = small_layer_pool();
  aqua_step_load load = AQUA_STEP_LOAD_INIT;
  aqua_block_pool_info info = AQUA_BLOCK_POOL_INFO_INIT;
  for (const std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{4097}, SIZE_MAX}) {
    options.struct_size = load.struct_size = status_.struct_size = info.struct_size = size;
    EXPECT_EQ(code_of(aqua_layer_pool_create(runtime_, &options, &made)), kInvalid) << size;
    EXPECT_EQ(code_of(aqua_layer_pool_end_step(pool(), &load, &step_)), kInvalid) << size;
    EXPECT_EQ(code_of(aqua_layer_pool_get_status(pool(), &status_)), kInvalid) << size;
    EXPECT_EQ(code_of(aqua_block_pool_get_info(list_, &info)), kInvalid) << size;
  }
  std::array<std::uint64_t, 3> older{16, 0, 77};  // a status of two numbers
  ASSERT_EQ(code_of(aqua_layer_pool_get_status(
                pool(), reinterpret_cast<aqua_layer_pool_status*>(older.data()))),
            AQUA_OK);
  EXPECT_EQ(older[1] & 0xffffffff, 3U);
  EXPECT_EQ(older[2], 77U);
}

TEST_F(LayerPoolCalls, OptionsThatCannotBe) {
  aqua_layer_pool made{};
  const auto create = [&](auto change) {
    aqua_layer_pool_options options = small_layer_pool(3);
    change(options);
    return code_of(aqua_layer_pool_create(runtime_, &options, &made));
  };
  EXPECT_EQ(create([](auto& o) { o.layers = 2; }), kInvalid);
  EXPECT_EQ(create([](auto& o) { o.layers = UINT32_MAX; }), kInvalid);
  EXPECT_EQ(create([](auto& o) { o.planes_per_layer = 0; }), kInvalid);
  EXPECT_EQ(create([](auto& o) { o.planes_per_layer = UINT32_MAX; }), kInvalid);
  EXPECT_EQ(create([](auto& o) { o.block_bytes = 0; }), kInvalid);
  EXPECT_EQ(create([](auto& o) { o.block_bytes = SIZE_MAX; }), kInvalid);
  EXPECT_EQ(create([](auto& o) { o.slab_bytes = 1; }), kInvalid);
  EXPECT_EQ(create([](auto& o) { o.frames = 7; }), kInvalid);
  EXPECT_EQ(create([](auto& o) { o.schedule = "lifo"; }), kInvalid);
  EXPECT_EQ(create([](auto& o) { o.device_bytes = SIZE_MAX; }), kInvalid);
  EXPECT_EQ(create([](auto& o) { o.device_bytes = 1024 * kMib; }), AQUA_RESOURCE_EXHAUSTED);
  EXPECT_EQ(made.id, 0U);
  EXPECT_EQ(code_of(aqua_layer_pool_create({}, nullptr, &made)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_create(0, 1, &list_)), kInvalid);
  EXPECT_EQ(code_of(aqua_block_pool_create(1, 0, &list_)), kInvalid);
}

TEST_F(LayerPoolCalls, NumbersOutOfRange) {
  EXPECT_EQ(code_of(aqua_layer_pool_get_plane(pool(), 6, 0, &address_)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_get_plane(pool(), 0, 2, &address_)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_packed_bytes(pool(), SIZE_MAX, &bytes_)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_packed_bytes(pool(), SIZE_MAX / (6 * kMib), &bytes_)), AQUA_OK);
  const Blocks twice{1, 1}, none{16}, many(17);
  const auto begin = [&](const Blocks& reads, const Blocks& writes, aqua_stream stream) {
    return code_of(aqua_layer_pool_begin_step(pool(), stream, reads.data(), reads.size(),
                                              writes.data(), writes.size()));
  };
  for (const Blocks& wrong : {twice, none, many}) {
    EXPECT_EQ(begin(wrong, {}, 0), kInvalid);
    EXPECT_EQ(begin({}, wrong, 0), kInvalid);
    EXPECT_EQ(offload(wrong, tensor_), kInvalid);
  }
  EXPECT_EQ(begin({}, {}, 12345), kInvalid) << "the stream";
  EXPECT_EQ(offload({0}, tensor_, 12345), kInvalid);
  EXPECT_EQ(offload({0, 1}, tensor_), kInvalid) << "too small";
  EXPECT_EQ(offload({0}, tensor_, 0, 1), kInvalid);
  EXPECT_EQ(offload({0}, tensor_, 0, SIZE_MAX), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_step_done(pool(), 0, &done_)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_step_done(pool(), 2, &done_)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_resize(pool(), 2)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_resize(pool(), 7)), kInvalid);
  EXPECT_EQ(status().frames, 3U);
}

TEST_F(LayerPoolCalls, LayersOutOfOrder) {
  EXPECT_EQ(code_of(aqua_layer_pool_begin_layer(pool(), 0)), kEarly);
  EXPECT_EQ(code_of(aqua_layer_pool_end_layer(pool(), 0)), kEarly);
  EXPECT_EQ(code_of(aqua_layer_pool_end_step(pool(), nullptr, &step_)), kEarly);
  ASSERT_EQ(code_of(aqua_layer_pool_begin_step(pool(), engine_->stream(), nullptr, 0, nullptr, 0)),
            AQUA_OK);
  EXPECT_EQ(code_of(aqua_layer_pool_begin_step(pool(), 0, nullptr, 0, nullptr, 0)), kEarly);
  EXPECT_EQ(code_of(aqua_layer_pool_begin_layer(pool(), 1)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_resize_with(pool(), 4, list_, 0, &done_)), kEarly);
  EXPECT_EQ(offload({0}, tensor_), kEarly);
  for (std::uint32_t layer = 0; layer < 6; ++layer) {
    ASSERT_EQ(code_of(aqua_layer_pool_begin_layer(pool(), layer)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_layer_pool_begin_layer(pool(), layer)), kEarly);
    ASSERT_EQ(code_of(aqua_layer_pool_end_layer(pool(), layer)), AQUA_OK);
  }
  ASSERT_EQ(code_of(aqua_layer_pool_end_step(pool(), nullptr, &step_)), AQUA_OK);
  EXPECT_EQ(step_, 2U);
}

TEST_F(LayerPoolCalls, AListThatIsNotThePools) {
  aqua_block_pool other{};
  for (const auto& [layers, blocks] : {std::pair{5U, 16U}, {6U, 17U}}) {
    ASSERT_EQ(code_of(aqua_block_pool_create(layers, blocks, &other)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_layer_pool_resize_with(pool(), 4, other, 0, &done_)), kInvalid);
    EXPECT_EQ(code_of(aqua_layer_pool_adapt(pool(), other, 0, &done_)), kInvalid);
    EXPECT_EQ(code_of(aqua_block_pool_free(other)), AQUA_OK);
  }
  EXPECT_EQ(code_of(aqua_layer_pool_resize_with(pool(), 7, list_, 0, &done_)), kInvalid);
  EXPECT_EQ(code_of(aqua_layer_pool_resize_with(pool(), 4, list_, 12345, &done_)), kInvalid);
  aqua_block_pool_info info = AQUA_BLOCK_POOL_INFO_INIT;
  ASSERT_EQ(code_of(aqua_block_pool_get_info(list_, &info)), AQUA_OK);
  EXPECT_EQ(info.usable_blocks, 16U);
  EXPECT_EQ(status().frames, 3U);
}

TEST_F(LayerPoolCalls, ARuntimeWithALayerPoolStaysOpenAndSaysWhy) {
  aqua_error* error = aqua_runtime_close(runtime_);
  EXPECT_NE(std::strstr(aqua_error_message(error), "1 layer pools"), nullptr)
      << aqua_error_message(error);
  EXPECT_EQ(code_of(error), kEarly);
}

// Kept by the calls on a pool of which a change is under way.
struct InOnResize {
  aqua_layer_pool pool{};
  aqua_runtime runtime{};
  aqua_block_pool list{};
  std::vector<aqua_code> refused{};
  std::vector<aqua_code> allowed{};
  bool frees = false;

  static void on_resize(void* user, const aqua_layer_pool_change* change) {
    auto& self = *static_cast<InOnResize*>(user);
    if (change->preempt_count == 0) return;
    int done = 0;
    std::uint64_t step = 0;
    std::uint32_t number = 0;
    const aqua_layer_pool pool = self.pool;
    self.refused = {
        code_of(aqua_layer_pool_begin_step(pool, 0, nullptr, 0, nullptr, 0)),
        code_of(aqua_layer_pool_begin_layer(pool, 0)),
        code_of(aqua_layer_pool_end_layer(pool, 0)),
        code_of(aqua_layer_pool_end_step(pool, nullptr, &step)),
        code_of(aqua_layer_pool_step_done(pool, 1, &done)),
        code_of(aqua_layer_pool_resize(pool, 5)),
        code_of(aqua_layer_pool_resize_with(pool, 5, self.list, 0, &done)),
        code_of(aqua_layer_pool_propose(pool, &number)),
        code_of(aqua_layer_pool_adapt(pool, self.list, 0, &done)),
        code_of(aqua_layer_pool_discard(pool)),
        code_of(aqua_runtime_close(self.runtime)),
    };
    aqua_layer_pool_status told = AQUA_LAYER_POOL_STATUS_INIT;
    void* address = nullptr;
    self.allowed = {code_of(aqua_layer_pool_get_status(pool, &told)),
                    code_of(aqua_layer_pool_usable_blocks(pool, &number)),
                    code_of(aqua_layer_pool_get_plane(pool, 0, 0, &address)),
                    code_of(aqua_block_pool_release(self.list, change->preempt[0]))};
    if (self.frees) self.allowed.push_back(code_of(aqua_layer_pool_free(pool)));
  }
};

TEST_F(LayerPoolCalls, OnResizeMayAskButChangeNothing) {
  for (const bool frees : {false, true}) {
    InOnResize calls{.frees = frees};
    aqua_layer_pool_options options = small_layer_pool(3);
    options.user = &calls;
    options.on_resize = InOnResize::on_resize;
    engine_->stamps().clear();
    LayerEngine& engine = start(options);
    calls.pool = engine.pool();
    calls.runtime = runtime_;
    ASSERT_EQ(code_of(aqua_block_pool_create(6, 16, &calls.list)), AQUA_OK);
    Blocks blocks(16);
    ASSERT_EQ(code_of(aqua_block_pool_allocate(calls.list, 5, 16, blocks.data())), AQUA_OK);
    ASSERT_EQ(code_of(aqua_layer_pool_resize_with(pool(), 4, calls.list, 0, &done_)), AQUA_OK);
    EXPECT_EQ(done_, 1);
    EXPECT_EQ(calls.refused, std::vector<aqua_code>(11, kEarly));
    EXPECT_EQ(calls.allowed, std::vector<aqua_code>(frees ? 5 : 4, AQUA_OK));
    EXPECT_EQ(code_of(aqua_layer_pool_usable_blocks(pool(), &number_)),
              frees ? AQUA_NOT_FOUND : AQUA_OK);
    EXPECT_EQ(code_of(aqua_block_pool_free(calls.list)), AQUA_OK);
  }
  start(small_layer_pool(3));
}

}  // namespace
}  // namespace aqua::test
