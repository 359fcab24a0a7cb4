// SPDX-License-Identifier: Apache-2.0
// Each allocation that a call of the C ABI makes is made to fail, one after the other: the call
// says resource_exhausted, or does without, and what it was called on still works.
#include "tests/capi/fail_each.hpp"

namespace aqua::test {
namespace {

class NoMemory : public CapiFixture {
 protected:
  NoMemory() {
    EXPECT_EQ(code_of(aqua_emulated_allocate(runtime_, 1 << 20, &memory_, &base_)), AQUA_OK);
    void* planes[] = {base_};
    aqua_paged_shape shape = AQUA_PAGED_SHAPE_INIT;
    shape.layers = 1;
    shape.block_count = 8;
    shape.tokens_per_block = 16;
    shape.element_bytes = 2;
    EXPECT_EQ(code_of(aqua_layout_create_mla(&shape, 64, planes, &layout_)), AQUA_OK);
  }
  ~NoMemory() override {
    EXPECT_EQ(code_of(aqua_layout_free(layout_)), AQUA_OK);
    EXPECT_EQ(code_of(aqua_emulated_free(memory_)), AQUA_OK);
  }

  aqua_emulated_memory memory_{};
  void* base_ = nullptr;
  aqua_layout layout_{};
};

TEST_F(NoMemory, Tensors) {
  aqua_tensor_options options = AQUA_TENSOR_OPTIONS_INIT;
  options.bytes = 4096;
  options.name = "a name that is longer than what a string keeps in itself";
  aqua_tensor made{};
  fail_each(
      "aqua_tensor_allocate", [&] { return aqua_tensor_allocate(runtime_, &options, &made); }, {},
      [&](bool ok) {
        if (ok) freed(aqua_tensor_free(made));
      });
  fail_each(
      "aqua_tensor_free", [&] { return aqua_tensor_free(made); }, [&] { made = tensor(); },
      [&](bool ok) {
        if (!ok) freed(aqua_tensor_free(made));
      });
  const aqua_tensor held = tensor();
  aqua_tier tier = 0;
  aqua_tensor_info info = AQUA_TENSOR_INFO_INIT;
  fail_each("aqua_tensor_get_tier", [&] { return aqua_tensor_get_tier(held, &tier); });
  fail_each("aqua_tensor_get_info", [&] { return aqua_tensor_get_info(held, &info); });
  freed(aqua_tensor_free(held));
}

TEST_F(NoMemory, Pins) {
  const aqua_tensor held = tensor();
  aqua_pin pin{};
  void* data = nullptr;
  const auto take = [&] {
    return aqua_tensor_pin(held, AQUA_ACCESS_WRITE, 0, 0, AQUA_WHOLE_TENSOR, &pin, &data);
  };
  fail_each("aqua_tensor_pin", take, {}, [&](bool ok) {
    if (ok) freed(aqua_pin_release(pin));
  });
  fail_each(
      "aqua_pin_release", [&] { return aqua_pin_release(pin); }, [&] { freed(take()); },
      [&](bool ok) {
        if (!ok) freed(aqua_pin_release(pin));
      });
  fail_each(
      "aqua_pin_release_on", [&] { return aqua_pin_release_on(pin, 0); }, [&] { freed(take()); },
      [&](bool ok) {
        if (!ok) freed(aqua_pin_release(pin));
      });
  // Its last pin gone, a tensor freed meanwhile goes with it.
  aqua_tensor gone{};
  fail_each(
      "aqua_pin_release, the last", [&] { return aqua_pin_release(pin); },
      [&] {
        gone = tensor();
        freed(aqua_tensor_pin(gone, AQUA_ACCESS_READ, 0, 0, AQUA_WHOLE_TENSOR, &pin, &data));
        freed(aqua_tensor_free(gone));
      },
      [&](bool ok) {
        if (!ok) freed(aqua_pin_release(pin));
      });
  freed(aqua_tensor_free(held));
}

// A release for which there is no memory is done or refused, and the tensor pinned or free.
TEST_F(NoMemory, AReleaseWithoutAnyLosesNothing) {
  const aqua_tensor held = tensor();
  constexpr std::size_t kRounds = 40;
  std::size_t without = 0;
  for (std::size_t n = 0; n < kRounds; ++n) {
    aqua_pin pin{};
    void* data = nullptr;
    freed(aqua_tensor_pin(held, AQUA_ACCESS_WRITE, 0, 0, AQUA_WHOLE_TENSOR, &pin, &data));
    aqua_error* error = nullptr;
    {
      const FailingNew failing(n, Failing::from_then_on);
      error = aqua_pin_release(pin);
      if (failing.failed()) ++without;
    }
    if (code_of(error) != AQUA_OK) freed(aqua_pin_release(pin));
    ASSERT_EQ(
        code_of(aqua_tensor_pin(held, AQUA_ACCESS_READ, 0, 0, AQUA_WHOLE_TENSOR, &pin, &data)),
        AQUA_OK)
        << "after a release with " << n << " allocations";
    freed(aqua_pin_release(pin));
  }
  EXPECT_GT(without, 0U) << "no release met an allocation that failed";
  freed(aqua_tensor_free(held));
}

TEST_F(NoMemory, OpeningARuntime) {
  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  options.device = "emu:8";
  options.coordinator = "none";
  options.socket_directory = directory_.c_str();
  options.host_bytes = std::size_t{8} << 20;
  aqua_runtime made{};
  const auto sockets = [&] {
    const std::filesystem::directory_iterator files(directory_);
    return std::distance(begin(files), end(files));
  };
  const auto before = sockets();
  fail_each(
      "aqua_runtime_open", [&] { return aqua_runtime_open(&options, &made); }, {},
      [&](bool ok) {
        if (ok) freed(aqua_runtime_close(made));
        ASSERT_EQ(sockets(), before) << "a socket is left behind";
      });
}

TEST_F(NoMemory, LayoutsAndTransfers) {
  aqua_layout made{};
  void* planes[] = {base_};
  aqua_paged_shape shape = AQUA_PAGED_SHAPE_INIT;
  shape.layers = 1;
  shape.block_count = 8;
  shape.tokens_per_block = 16;
  shape.element_bytes = 2;
  fail_each(
      "aqua_layout_create_mla", [&] { return aqua_layout_create_mla(&shape, 64, planes, &made); },
      {},
      [&](bool ok) {
        if (ok) freed(aqua_layout_free(made));
      });
  aqua_layout_spec spec = AQUA_LAYOUT_SPEC_INIT;
  spec.layers = spec.planes_per_layer = 1;
  spec.planes = planes;
  spec.plane_count = 1;
  spec.block_count = 8;
  spec.block_stride = spec.run_bytes = 2048;
  fail_each(
      "aqua_layout_create", [&] { return aqua_layout_create(&spec, &made); }, {},
      [&](bool ok) {
        if (ok) freed(aqua_layout_free(made));
      });

  const aqua_tensor held = tensor(std::size_t{64} << 10);
  const std::uint32_t blocks[] = {5, 1, 2};
  aqua_ticket ticket{};
  const auto finish = [&](bool ok) {
    if (!ok) return;
    freed(aqua_ticket_wait(ticket));
    freed(aqua_ticket_free(ticket));
  };
  fail_each(
      "aqua_offload", [&] { return aqua_offload(layout_, blocks, 3, held, 0, 0, &ticket); }, {},
      finish);
  fail_each(
      "aqua_fetch", [&] { return aqua_fetch(held, layout_, blocks, 3, 0, 0, &ticket); }, {},
      finish);
  freed(aqua_offload(layout_, blocks, 3, held, 0, 0, &ticket));
  int done = 0;
  fail_each("aqua_ticket_wait", [&] { return aqua_ticket_wait(ticket); });
  fail_each("aqua_ticket_done", [&] { return aqua_ticket_done(ticket, &done); });
  fail_each("aqua_ticket_stream_wait", [&] { return aqua_ticket_stream_wait(ticket, 0, 0); });
  fail_each("aqua_ticket_layer_done", [&] { return aqua_ticket_layer_done(ticket, 0, &done); });
  fail_each("aqua_ticket_cancel", [&] { return aqua_ticket_cancel(ticket); });
  freed(aqua_ticket_free(ticket));
  freed(aqua_tensor_free(held));
}

TEST_F(NoMemory, LendingAndLoad) {
  const std::size_t slab = std::size_t{64} << 20;
  const auto await_home = [&] {
    aqua_reclaim reclaim{};
    freed(aqua_runtime_reclaim(runtime_, slab, 10'000, &reclaim));
    freed(aqua_reclaim_wait(reclaim, nullptr));
    freed(aqua_reclaim_free(reclaim));
  };
  fail_each(
      "aqua_runtime_lend", [&] { return aqua_runtime_lend(runtime_, slab); }, {},
      [&](bool ok) {
        if (ok) await_home();
      });
  aqua_reclaim reclaim{};
  fail_each(
      "aqua_runtime_reclaim",
      [&] { return aqua_runtime_reclaim(runtime_, slab, 10'000, &reclaim); },
      [&] { freed(aqua_runtime_lend(runtime_, slab)); },
      [&](bool ok) {
        if (!ok) return await_home();
        freed(aqua_reclaim_wait(reclaim, nullptr));
        freed(aqua_reclaim_free(reclaim));
      });
  aqua_runtime_status status = AQUA_RUNTIME_STATUS_INIT;
  fail_each("aqua_runtime_get_status", [&] { return aqua_runtime_get_status(runtime_, &status); });
  fail_each("aqua_runtime_tick", [&] { return aqua_runtime_tick(runtime_); });
  aqua_pool pool{};
  aqua_pool_options options = AQUA_POOL_OPTIONS_INIT;
  options.planes = 2;
  options.plane_bytes = std::size_t{4} << 20;
  fail_each(
      "aqua_pool_create", [&] { return aqua_pool_create(runtime_, &options, &pool); }, {},
      [&](bool ok) {
        if (ok) freed(aqua_pool_free(pool));
      });
}

}  // namespace
}  // namespace aqua::test
