// SPDX-License-Identifier: Apache-2.0
// What a SegmentCarrier gathers goes beside an engine's kernels, on a stream of the carrier's own.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <vector>

#include "aqua/handoff/segment_carrier.hpp"
#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "tests/handoff/small_carrier.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua {
namespace {

using test::StampedCache;

constexpr std::chrono::seconds kLong{30};
const std::vector<std::uint32_t> kBlocks{7, 3};

class SegmentCopies : public ::testing::Test {
 protected:
  SegmentCopies() { EXPECT_TRUE(taker_.admit("prefill", 4).ok()); }
  ~SegmentCopies() override {
    prefill_.reset();
    (void)emulated::destroy_stream(cache_.runtime(), other_);
  }

  [[nodiscard]] SegmentCarrier attach(const std::string& role) {
    return SegmentCarrier::attach(cache_.runtime(), cache_.layout(),
                                  test::small_carrier(keeper_.socket(), role))
        .value();
  }
  std::uint64_t open(const std::string& id) {
    const std::uint64_t number = prefill_->open({id, 1}, "decode").value();
    while (*prefill_->state(number) != ParcelState::open) EXPECT_TRUE(prefill_->wait(kLong));
    return number;
  }
  Delivery delivery() {
    for (;;) {
      const auto all = prefill_->deliveries();
      if (!all.empty()) return all.front();
      if (prefill_->wait(kLong)) continue;
      ADD_FAILURE() << "nothing was told";
      return {};
    }
  }
  // Work on the stream that fails: it reads a block that has died.
  void fail(Stream stream) {
    const LayoutSpec& spec = cache_.layout().spec();
    const std::vector<std::uint32_t> dead{60};
    device::poison_range(detail::Internals::impl(cache_.runtime()).device(),
                         spec.planes[0] + dead[0] * spec.block_stride, 1);
    tensor_ = cache_.runtime().allocate({.bytes = cache_.layout().packed_bytes(1)}).value();
    auto failed = cache_.runtime().offload(cache_.layout(), dead, *tensor_, stream).value();
    EXPECT_EQ(failed.wait().error().code, Code::data_loss);
  }

  test::KeeperProcess keeper_;
  StampedCache cache_;
  const Stream other_ = emulated::create_stream(cache_.runtime()).value();
  SegmentCarrier taker_ = attach("decode");
  std::optional<SegmentCarrier> prefill_ = attach("prefill");
  std::optional<AquaTensor> tensor_;
};

TEST_F(SegmentCopies, KernelsBehindAFillDoNotWaitForIt) {
  const std::uint64_t number = open("a");
  std::promise<void> go;
  cache_.launch([&] { go.get_future().wait(); });
  auto behind_the_kernel = prefill_->fill(number, {.layers = {0, 1}}, kBlocks, cache_.stream());
  auto next = prefill_->fill(number, {.layers = {1, 1}}, kBlocks, other_);
  ASSERT_TRUE(behind_the_kernel.ok() && next.ok());
  ASSERT_TRUE(emulated::synchronize(cache_.runtime(), other_).ok());
  EXPECT_FALSE(*next->done()) << "gathered behind the other one, which waits for its kernel";
  go.set_value();
  EXPECT_TRUE(next->wait().ok());
  EXPECT_TRUE(behind_the_kernel->wait().ok());
}

TEST_F(SegmentCopies, WorkThatFailedBeforeAFillHoldsTheParcelBackWhateverStreamClosesIt) {
  const std::uint64_t number = open("a");
  fail(other_);
  ASSERT_TRUE(prefill_->fill(number, {}, kBlocks, other_).ok());
  ASSERT_TRUE(prefill_->close(number, {}, 8, "", cache_.stream()).ok());
  const Delivery told = delivery();
  EXPECT_EQ(told.outcome, Delivery::Outcome::refused);
  EXPECT_EQ(told.error.code, Code::data_loss);
  EXPECT_TRUE(taker_.accept(1).empty());
}

// The failure was told for another parcel after this one had been filled behind it.
TEST_F(SegmentCopies, WhatWasFilledBeforeAFailureWasToldIsHeldBackAfterIt) {
  const std::uint64_t filled = open("a"), other = open("b");
  fail(other_);
  ASSERT_TRUE(prefill_->fill(filled, {}, kBlocks, other_).ok());
  ASSERT_TRUE(prefill_->fill(other, {}, kBlocks, other_).ok());
  ASSERT_TRUE(prefill_->close(other, {}, 8, "", other_).ok());
  EXPECT_EQ(delivery().error.code, Code::data_loss);
  ASSERT_TRUE(prefill_->close(filled, {}, 8, "", cache_.stream()).ok());
  const Delivery told = delivery();
  EXPECT_EQ(told.number, filled);
  EXPECT_EQ(told.error.code, Code::data_loss);
}

TEST_F(SegmentCopies, WhoIsClosedWaitsForWhatItGathers) {
  const std::uint64_t number = open("a");
  std::promise<void> go;
  cache_.launch([&] { go.get_future().wait(); });
  auto copies = prefill_->fill(number, {}, kBlocks, cache_.stream());
  ASSERT_TRUE(copies.ok());
  auto closed = std::async(std::launch::async, [&] { prefill_.reset(); });
  EXPECT_FALSE(*copies->done());
  go.set_value();
  closed.get();
  EXPECT_TRUE(*copies->done());
}

}  // namespace
}  // namespace aqua
