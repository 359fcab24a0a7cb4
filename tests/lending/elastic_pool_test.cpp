// SPDX-License-Identifier: Apache-2.0
#include "lending/elastic_pool.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>

#include "tests/lending/elastic_pool_fixture.hpp"

namespace aqua::lending {
namespace {

template <typename T>
void expect_code(const Result<T>& result, Code code) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().message;
}

TEST_P(ElasticPoolTest, ReportsItsSizesAndTheQuantum) {
  EXPECT_EQ(pool_->planes(), kPlanes);
  EXPECT_EQ(pool_->quantum_bytes(), kPlanes * kPoolSlab);
  EXPECT_EQ(pool_->total_quanta(), kQuanta);
  EXPECT_EQ(pool_->lent_quanta(), 0U);
  EXPECT_EQ(pool_->usable_bytes_per_plane(), kQuanta * kPoolSlab);
  EXPECT_EQ(pool_->usable_blocks(3 * kPoolSlab), 1U);  // whole ones
  EXPECT_EQ(pool_->usable_blocks(16_KiB), kQuanta * 128);
  EXPECT_EQ(pool_->usable_blocks(0), 0U);
  EXPECT_EQ(device_->free_bytes(), 64_MiB - (kPlanes * kQuanta + (filler_ ? 1 : 0)) * kPoolSlab);
}

TEST_P(ElasticPoolTest, WhatStaysKeepsItsBytesAndAddressesAcrossShrinkAndGrow) {
  mark_all();
  ElasticPool::Slabs lent = shrink(2);
  ASSERT_EQ(lent.size(), 2 * kPlanes);
  EXPECT_EQ(pool_->lent_quanta(), 2U);
  expect_kept(3);
  EXPECT_EQ(must(pool_->grow(lent)), 2U);
  EXPECT_TRUE(lent.empty());
  EXPECT_EQ(pool_->lent_quanta(), 0U);
  expect_kept(5);  // nobody wrote to the slabs lent
}

TEST_P(ElasticPoolTest, TheTailStaysMappedUntilTheStreamHasReachedItsEnd) {
  mark_all();
  std::promise<void> gate;
  must(device::launch(*device_, stream_, [open = gate.get_future().share()] { open.wait(); }));
  write(place(1, 4), mark(9, 9));  // queued behind the gate, into the tail
  must(pool_->begin_shrink(1, stream_));
  EXPECT_EQ(pool_->usable_bytes_per_plane(), 4 * kPoolSlab);  // at once
  EXPECT_EQ(pool_->lent_quanta(), 0U);                        // but not yet
  for (int i = 0; i < 100; ++i) ASSERT_FALSE(must(pool_->poll_shrink()).has_value());
  gate.set_value();
  test::drain(*device_, stream_);  // had the tail been unmapped, the write had died here
  auto slabs = must(pool_->poll_shrink());
  ASSERT_TRUE(slabs.has_value());
  EXPECT_EQ(slabs->size(), kPlanes);
  EXPECT_EQ(pool_->lent_quanta(), 1U);
  expect_kept(4);
}

TEST_P(ElasticPoolTest, WorkOnOtherStreamsOrPostedLaterIsNotWaitedFor) {
  const Stream other = must(device_->create_stream());
  std::promise<void> gate;
  must(device::launch(*device_, other, [open = gate.get_future().share()] { open.wait(); }));
  EXPECT_EQ(shrink(1).size(), kPlanes);
  gate.set_value();
  must(device_->destroy_stream(other));
}

TEST_P(ElasticPoolTest, LentSlabsAreTheirBorrowersAndNoLongerThePools) {
  mark_all();
  ElasticPool::Slabs lent = shrink(1);
  auto range = must(device_->reserve(kPlanes * kPoolSlab));
  for (std::size_t i = 0; i < lent.size(); ++i) {
    ASSERT_EQ(lent[i]->bytes(), kPoolSlab);
    must(device_->map(*range, i * kPoolSlab, *lent[i]));
    write(range->base() + i * kPoolSlab, Bytes(kPoolSlab, std::byte{0xee}));
  }
  expect_kept(4);
  for (std::size_t i = 0; i < lent.size(); ++i)
    must(device_->unmap(*range, i * kPoolSlab, kPoolSlab));
  EXPECT_EQ(must(pool_->grow(lent)), 1U);
  for (std::size_t plane = 0; plane < kPlanes; ++plane) {
    EXPECT_TRUE(read(place(plane, 4), kPoolSlab) == Bytes(kPoolSlab, std::byte{0xee}));
  }
}

TEST_P(ElasticPoolTest, EverythingMayBeLentAndComesBackQuantumByQuantum) {
  ElasticPool::Slabs lent = shrink(kQuanta);
  EXPECT_EQ(pool_->usable_blocks(1), 0U);
  EXPECT_EQ(lent.size(), kQuanta * kPlanes);
  // Slabs return one by one; the pool takes them whenever they make a quantum.
  ElasticPool::Slabs back;
  std::size_t grown = 0;
  while (!lent.empty()) {
    back.push_back(std::move(lent.back()));
    lent.pop_back();
    const std::size_t whole = back.size() / kPlanes;
    EXPECT_EQ(must(pool_->grow(back)), whole);
    EXPECT_EQ(back.size() % kPlanes, back.size());
    grown += whole;
    EXPECT_EQ(pool_->usable_bytes_per_plane(), grown * kPoolSlab);
  }
  EXPECT_EQ(grown, kQuanta);
  mark_all();
  expect_kept(kQuanta);
}

TEST_P(ElasticPoolTest, ASlabThatNeverReturnsIsReplacedByAnyOther) {
  ElasticPool::Slabs lent = shrink(1);
  lent.front() = must(device_->create_slab(kPoolSlab));
  EXPECT_EQ(must(pool_->grow(lent)), 1U);
  mark_all();
  expect_kept(kQuanta);
}

TEST_P(ElasticPoolTest, ShrinksRefusedChangeNothing) {
  mark_all();
  expect_code(pool_->begin_shrink(0, stream_), Code::invalid_argument);
  expect_code(pool_->begin_shrink(kQuanta + 1, stream_), Code::resource_exhausted);
  expect_code(pool_->poll_shrink(), Code::failed_precondition);
  expect_code(pool_->cancel_shrink(), Code::failed_precondition);
  faulty_.refuse(1, 1);
  expect_code(pool_->begin_shrink(1, stream_), test::FaultyDevice::kCode);  // no event, no shrink
  faulty_.refuse_none();
  expect_kept(kQuanta);
}

TEST_P(ElasticPoolTest, APendingShrinkExcludesOtherChangesAndCanBeCalledOff) {
  mark_all();
  ElasticPool::Slabs lent = shrink(1);
  must(pool_->begin_shrink(2, stream_));
  expect_code(pool_->begin_shrink(1, stream_), Code::failed_precondition);
  expect_code(pool_->grow(lent), Code::failed_precondition);
  EXPECT_EQ(lent.size(), kPlanes);
  EXPECT_EQ(pool_->usable_bytes_per_plane(), 2 * kPoolSlab);
  must(pool_->cancel_shrink());
  expect_code(pool_->poll_shrink(), Code::failed_precondition);
  expect_kept(4);
  EXPECT_EQ(must(pool_->grow(lent)), 1U);
}

TEST_P(ElasticPoolTest, GrowRefusesWrongSlabsAndTakesNothing) {
  ElasticPool::Slabs lent = shrink(1);
  auto good = std::exchange(lent[1], nullptr);
  expect_code(pool_->grow(lent), Code::invalid_argument);
  lent[1] = must(device_->create_slab(2 * kPoolSlab));
  expect_code(pool_->grow(lent), Code::invalid_argument);
  EXPECT_EQ(lent.size(), kPlanes);
  EXPECT_EQ(pool_->lent_quanta(), 1U);
  lent[1] = std::move(good);
  EXPECT_EQ(must(pool_->grow(lent)), 1U);
  // Nothing is lent any more: one more quantum finds no place and stays the caller's.
  ElasticPool::Slabs extra;
  for (std::size_t i = 0; i < kPlanes; ++i) extra.push_back(must(device_->create_slab(kPoolSlab)));
  EXPECT_EQ(must(pool_->grow(extra)), 0U);
  EXPECT_EQ(extra.size(), kPlanes);
}

TEST_P(ElasticPoolTest, AMapThatFailsHalfWayThroughAGrowIsUndone) {
  mark_all();
  ElasticPool::Slabs lent = shrink(2);
  for (unsigned call = 1; call <= 2 * kPlanes; ++call) {
    faulty_.refuse(call, call);
    expect_code(pool_->grow(lent), test::FaultyDevice::kCode);
    ASSERT_EQ(lent.size(), 2 * kPlanes);
    EXPECT_EQ(pool_->lent_quanta(), 2U);
    expect_kept(3);
  }
  faulty_.refuse_none();
  EXPECT_EQ(must(pool_->grow(lent)), 2U);
  expect_kept(5);
}

TEST_F(ElasticPoolWithFiller, AMapThatFailsHalfWayThroughAShrinkIsUndoneAndMayBeTriedAgain) {
  mark_all();
  must(pool_->begin_shrink(2, stream_));
  test::drain(*device_, stream_);
  for (unsigned call = 1; call <= 2 * kPlanes; ++call) {
    faulty_.refuse(call, call);
    expect_code(pool_->poll_shrink(), test::FaultyDevice::kCode);
    EXPECT_EQ(pool_->lent_quanta(), 0U);
  }
  faulty_.refuse_none();
  expect_kept(3);
  must(pool_->cancel_shrink());
  expect_kept(5);
  EXPECT_EQ(shrink(2).size(), 2 * kPlanes);
  expect_kept(3);
}

TEST_F(ElasticPoolWithFiller, WhatCannotEvenBeUndoneIsGivenUpAndNeverLent) {
  mark_all();
  must(pool_->begin_shrink(2, stream_));
  test::drain(*device_, stream_);
  faulty_.refuse(3, 1000);  // two places swapped, then neither forward nor back
  expect_code(pool_->poll_shrink(), test::FaultyDevice::kCode);
  faulty_.refuse_none();
  ElasticPool::Slabs none;
  expect_code(pool_->poll_shrink(), Code::failed_precondition);
  expect_code(pool_->cancel_shrink(), Code::failed_precondition);
  expect_code(pool_->begin_shrink(1, stream_), Code::failed_precondition);
  expect_code(pool_->grow(none), Code::failed_precondition);
  expect_kept(3);  // the engine works on with what is certain
}

TEST_P(ElasticPoolTest, AnEngineWhoseWorkDiedKeepsItsTail) {
  must(pool_->begin_shrink(1, stream_));
  must(pool_->cancel_shrink());
  test::drain(*device_, stream_);
  device::poison_range(*device_, place(0, 0), kPoolSlab);
  auto batch = std::make_shared<const std::vector<device::CopySegment>>(
      std::vector<device::CopySegment>{{place(1, 0), place(0, 0), 4096}});
  must(device_->copy(batch, stream_));
  must(pool_->begin_shrink(1, stream_));
  test::drain(*device_, stream_);
  expect_code(pool_->poll_shrink(), Code::data_loss);
  EXPECT_EQ(pool_->usable_bytes_per_plane(), kQuanta * kPoolSlab);
  expect_code(pool_->poll_shrink(), Code::failed_precondition);
}

TEST_P(ElasticPoolTest, LendsNothingOnAStreamThatIsBeingCaptured) {
  faulty_.capture(stream_);
  expect_code(pool_->begin_shrink(1, stream_), Code::failed_precondition);
  EXPECT_EQ(pool_->usable_bytes_per_plane(), kQuanta * kPoolSlab);
  faulty_.capture({});
  must(pool_->begin_shrink(1, stream_));
  must(pool_->cancel_shrink());
}

TEST_F(ElasticPoolWithFiller, StrayReadsOfLentMemoryFindTheFiller) {
  mark_all();
  ElasticPool::Slabs lent = shrink(2);
  for (std::size_t plane = 0; plane < kPlanes; ++plane) {
    for (const std::size_t q : {std::size_t{3}, std::size_t{4}}) {
      EXPECT_TRUE(read(place(plane, q), kPoolSlab) == Bytes(kPoolSlab, std::byte{0}));
    }
  }
  write(place(0, 3), Bytes(kPoolSlab, std::byte{0x55}));  // a stray write goes nowhere
  expect_kept(3);
  EXPECT_EQ(must(pool_->grow(lent)), 2U);
  expect_kept(5);
}

TEST_P(ElasticPoolTest, CreationIsAllOrNothing) {
  const std::size_t free = device_->free_bytes();
  auto big = options();
  big.plane_bytes = 64 * kPoolSlab;
  expect_code(ElasticPool::create(*device_, big), Code::resource_exhausted);
  EXPECT_EQ(device_->free_bytes(), free);
  for (unsigned call = 1;; ++call) {
    faulty_.refuse(call, call);
    auto small = options();
    small.plane_bytes = kPoolSlab;
    const auto made = ElasticPool::create(faulty_, small);
    if (!faulty_.refused_any()) {
      EXPECT_TRUE(made.ok());
      break;
    }
    expect_code(made, test::FaultyDevice::kCode);
    EXPECT_EQ(device_->free_bytes(), free);
  }
  EXPECT_EQ(device_->free_bytes(), free);
}

TEST_P(ElasticPoolTest, RefusesShapesThatCannotBe) {
  const auto refused = [&](ElasticPoolOptions o) {
    expect_code(ElasticPool::create(*device_, o), Code::invalid_argument);
  };
  refused({.planes = 0, .plane_bytes = kPoolSlab});
  refused({.planes = 1, .plane_bytes = 0});
  refused({.planes = 1, .plane_bytes = kPoolSlab + 1});
  refused({.planes = 1, .plane_bytes = kPoolSlab, .slab_bytes = 0});
  refused({.planes = 1, .plane_bytes = kPoolSlab, .slab_bytes = kPoolSlab / 2});
  refused({.planes = std::size_t{1} << 60, .plane_bytes = kPoolSlab});
}

TEST_P(ElasticPoolTest, ItsMemoryIsFreeAgainWhenItEnds) {
  { const ElasticPool::Slabs lent = shrink(2); }
  pool_.reset();
  EXPECT_EQ(device_->free_bytes(), 64_MiB);
}

INSTANTIATE_TEST_SUITE_P(Filler, ElasticPoolTest, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "With" : "Without"; });

}  // namespace
}  // namespace aqua::lending
