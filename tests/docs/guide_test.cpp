// SPDX-License-Identifier: Apache-2.0
// The guide's pieces do what it says of them, on one emulated GPU without a coordinator.
// As they stand on the page: first, so that their own includes are enough.
// clang-format off
#include "callbacks.hpp"
#include "data_loss.hpp"
#include "elastic.hpp"
#include "pinned.hpp"
#include "producer.hpp"
#include "streams.hpp"
#include "swap_space.hpp"
// clang-format on

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "aqua/aqua.h"
#include "aqua/aqua_emulated.h"
#include "aqua/elastic_pool.hpp"
#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "tests/base/eventually.hpp"

extern "C" aqua_error* guide_preempt(aqua_runtime, aqua_layout, const std::uint32_t*, std::size_t,
                                     aqua_stream, aqua_tensor*, aqua_ticket*);

namespace {

using namespace aqua::literals;
using aqua::test::eventually;

class Guide : public ::testing::Test {
 protected:
  Guide() {
    char pattern[] = "/tmp/aqua-guide-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    runtime_ = std::move(aqua::Runtime::open(with_callbacks(options(), events_))).value();
    cache_ = std::move(aqua::emulated::allocate(*runtime_, 4_MiB)).value();
    stream_ = *aqua::emulated::create_stream(*runtime_);
    std::byte* base = cache_.data();
    std::byte* keys[] = {base, base + 1_MiB};
    std::byte* values[] = {base + 2_MiB, base + 3_MiB};
    layout_ = *aqua::Layout::mha(
        {.layers = 2, .block_count = 64, .tokens_per_block = 16, .element_bytes = 2}, 8, 64, keys,
        values);
  }
  ~Guide() override {
    EXPECT_TRUE(aqua::emulated::destroy_stream(*runtime_, stream_).ok());
    cache_ = {};
    runtime_.reset();
    std::filesystem::remove_all(directory_);
  }
  aqua::RuntimeOptions options() {
    return {.device = "emu:0",
            .coordinator = "none",
            .host_bytes = 16_MiB,
            .slab_bytes = 2_MiB,
            .socket_directory = directory_};
  }
  void fill(std::uint32_t block, int value) { each_plane(block, value, nullptr); }
  bool holds(std::uint32_t block, int value) {
    bool same = true;
    each_plane(block, value, &same);
    return same;
  }

  std::string directory_;
  Events events_;
  std::optional<aqua::Runtime> runtime_;
  aqua::emulated::Memory cache_;
  aqua::Stream stream_;
  std::optional<aqua::Layout> layout_;

 private:
  void each_plane(std::uint32_t block, int value, bool* same) {
    const auto kernel = [=, this] {
      const std::vector<std::byte> wanted(layout_->plane_block_bytes(),
                                          static_cast<std::byte>(value));
      for (std::byte* plane : layout_->spec().planes) {
        auto* at = aqua::emulated::kernel_view(plane) + block * layout_->plane_block_bytes();
        if (same == nullptr)
          std::memcpy(at, wanted.data(), wanted.size());
        else if (std::memcmp(at, wanted.data(), wanted.size()) != 0)
          *same = false;
      }
    };
    ASSERT_TRUE(aqua::emulated::launch(*runtime_, stream_, kernel).ok());
    ASSERT_TRUE(aqua::emulated::synchronize(*runtime_, stream_).ok());
  }
};

TEST_F(Guide, ASequenceIsPreemptedAndResumedInOtherBlocks) {
  SwapSpace space(*runtime_, *layout_, stream_);
  SwapSpace::Sequence sequence{.name = "seq 1", .blocks = {7, 3}};
  fill(7, 1);
  fill(3, 2);
  ASSERT_TRUE(space.preempt(sequence).ok());
  ASSERT_TRUE(sequence.ticket.wait().ok());
  EXPECT_TRUE(*SwapSpace::arrived(sequence));
  fill(7, 9);
  ASSERT_TRUE(space.resume(sequence, {20, 21}).ok());
  ASSERT_TRUE(sequence.ticket.wait().ok());
  EXPECT_TRUE(holds(20, 1) && holds(21, 2) && holds(7, 9));
}

TEST_F(Guide, MovesHaveAStreamOfTheirOwnAndKeepTheOrder) {
  auto moves = *aqua::SideStream::create(*runtime_);
  const std::uint32_t from[] = {7}, to[] = {20};
  auto tensor = *runtime_->allocate({.bytes = layout_->packed_bytes(1)});
  std::byte* plane = layout_->spec().planes[0];
  const std::size_t bytes = layout_->plane_block_bytes();
  int seen = 0;
  std::promise<void> go;
  auto gone = go.get_future().share();
  ASSERT_TRUE(aqua::emulated::launch(*runtime_, stream_, [=] {
                gone.wait();  // so that a copy that does not wait for it is too early
                std::memset(aqua::emulated::kernel_view(plane) + 7 * bytes, 5, bytes);
              }).ok());
  auto out = offload_beside(*runtime_, *layout_, from, tensor, stream_, moves);
  ASSERT_TRUE(out.ok());
  EXPECT_FALSE(*out->done());
  auto back = fetch_beside(*runtime_, tensor, *layout_, to, stream_, moves);
  ASSERT_TRUE(back.ok());
  ASSERT_TRUE(aqua::emulated::launch(*runtime_, stream_, [=, &seen] {
                seen = static_cast<int>(aqua::emulated::kernel_view(plane)[21 * bytes - 1]);
              }).ok());
  go.set_value();
  ASSERT_TRUE(aqua::emulated::synchronize(*runtime_, stream_).ok());
  EXPECT_EQ(seen, 5);
  EXPECT_TRUE(back->wait().ok());
}

TEST_F(Guide, NoRoomIsResourceExhaustedAndTheSequenceStays) {
  SwapSpace space(*runtime_, *layout_, stream_);
  auto all = runtime_->allocate({.bytes = 16_MiB});
  ASSERT_TRUE(all.ok());
  SwapSpace::Sequence sequence{.name = "seq 1", .blocks = {7, 3}};
  const auto outcome = space.preempt(sequence);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, aqua::Code::resource_exhausted);
  EXPECT_FALSE(sequence.tensor.valid());
}

TEST_F(Guide, AStateWrittenUnderAPinIsReadUnderAPin) {
  auto tensor = save(*runtime_, stream_, 1000, [&](std::byte* to) {
    ASSERT_TRUE(aqua::emulated::launch(*runtime_, stream_, [to] {
                  std::memset(aqua::emulated::kernel_view(to), 5, 1000);
                }).ok());
  });
  ASSERT_TRUE(tensor.ok());
  auto pin = tensor->pin(aqua::Access::read, stream_);
  std::byte last{};
  ASSERT_TRUE(aqua::emulated::launch(*runtime_, stream_, [&] {
                last = aqua::emulated::kernel_view(pin->data())[999];
              }).ok());
  ASSERT_TRUE(aqua::emulated::synchronize(*runtime_, stream_).ok());
  EXPECT_EQ(last, std::byte{5});
}

TEST_F(Guide, AProducerIsToldToLendAndTakesItBack) {
  const std::size_t total = runtime_->budget().engine_bytes;
  constexpr std::size_t kFree = 64_MiB;
  std::size_t used = total;
  Producer producer(*runtime_, [&](std::size_t most) {
    const std::size_t before = used;
    used = std::min(used, most);
    return before - used;
  });
  constexpr auto kAtOnce = std::chrono::milliseconds(0);
  ASSERT_TRUE(
      producer
          .start(
              {.steady_requests_per_second = 5,
               .kv_bytes_total = total,
               .steady_free_bytes = kFree,
               .producer_threshold_bytes = 1_MiB},
              {.settle_time = kAtOnce, .min_time_between_flips = kAtOnce, .min_offer_bytes = 2_MiB})
          .ok());
  ASSERT_TRUE(producer.report(5, 0, 1_MiB, 1_MiB).ok());
  runtime_->tick();
  ASSERT_TRUE(events_.lend);
  ASSERT_TRUE(producer.obey().ok());
  EXPECT_TRUE(eventually([&] { return runtime_->status().lent_bytes == kFree; }));
  EXPECT_EQ(used, total - kFree);

  // A surge: all of it is wanted back. Reported again and again, as an engine does, since what
  // comes after a reclaim's deadline is asked for by the next.
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(producer.report(50, 100, 1_MiB, total).ok());
    return runtime_->status().lent_bytes == 0;
  }));
  EXPECT_EQ(runtime_->budget().engine_bytes, total);
  const auto lie = producer.report(-1, 0, 0, 0);
  ASSERT_FALSE(lie.ok());
  EXPECT_EQ(lie.error().code, aqua::Code::invalid_argument);
}

TEST_F(Guide, APoolLendsItsUpperHalfAndTakesItBack) {
  auto pool = aqua::ElasticPool::create(*runtime_, {.planes = 4, .plane_bytes = 8_MiB});
  ASSERT_TRUE(pool.ok()) << pool.error().message;
  ASSERT_TRUE(lend_upper_half(*pool, stream_).ok());
  EXPECT_EQ(pool->usable_bytes_per_plane(), 4_MiB);
  EXPECT_TRUE(eventually([&] { return pool->lent_quanta() == 2; }));
  auto reclaim = take_back(*runtime_, *pool);
  ASSERT_TRUE(reclaim.ok()) << reclaim.error().message;
  const auto end = reclaim->wait();
  EXPECT_TRUE(end.ok()) << end.error().message;
}

TEST_F(Guide, BytesThatAreThereAreFetched) {
  auto tensor = runtime_->allocate({.bytes = layout_->packed_bytes(1)});
  const std::uint32_t block[] = {5};
  const std::uint32_t other[] = {6};
  fill(5, 3);
  auto out = runtime_->offload(*layout_, block, *tensor, stream_);
  ASSERT_TRUE(out.ok());
  aqua::Ticket ticket;
  auto fetched = fetch_or_recompute(*runtime_, *layout_, other, stream_, *tensor, ticket);
  ASSERT_TRUE(fetched.ok() && *fetched);
  ASSERT_TRUE(ticket.wait().ok());
  EXPECT_TRUE(holds(6, 3));
}

TEST(GuideInC, ASequenceIsPreempted) {
  char pattern[] = "/tmp/aqua-guide-XXXXXX";
  const std::string directory = ::mkdtemp(pattern);
  aqua_runtime_options options = AQUA_RUNTIME_OPTIONS_INIT;
  options.device = "emu:0";
  options.coordinator = "none";
  options.host_bytes = 4_MiB;
  options.socket_directory = directory.c_str();
  aqua_runtime runtime{};
  ASSERT_EQ(aqua_runtime_open(&options, &runtime), nullptr);
  aqua_emulated_memory memory{};
  void* base = nullptr;
  ASSERT_EQ(aqua_emulated_allocate(runtime, 2_MiB, &memory, &base), nullptr);
  void* planes[] = {base};
  aqua_paged_shape shape = AQUA_PAGED_SHAPE_INIT;
  shape.layers = 1;
  shape.block_count = 8;
  shape.tokens_per_block = 16;
  shape.element_bytes = 2;
  aqua_layout layout{};
  ASSERT_EQ(aqua_layout_create_mla(&shape, 64, planes, &layout), nullptr);
  const std::uint32_t blocks[] = {3, 1};
  aqua_tensor tensor{};
  aqua_ticket ticket{};
  ASSERT_EQ(guide_preempt(runtime, layout, blocks, 2, 0, &tensor, &ticket), nullptr);
  EXPECT_EQ(aqua_ticket_wait(ticket), nullptr);
  EXPECT_EQ(aqua_ticket_free(ticket), nullptr);
  EXPECT_EQ(aqua_tensor_free(tensor), nullptr);
  const std::uint32_t wrong[] = {3, 99};  // refused: no tensor is left behind
  aqua_error* error = guide_preempt(runtime, layout, wrong, 2, 0, &tensor, &ticket);
  EXPECT_EQ(aqua_error_code(error), AQUA_INVALID_ARGUMENT);
  aqua_error_free(error);
  EXPECT_EQ(aqua_layout_free(layout), nullptr);
  EXPECT_EQ(aqua_emulated_free(memory), nullptr);
  EXPECT_EQ(aqua_runtime_close(runtime), nullptr);
  std::filesystem::remove_all(directory);
}

}  // namespace
