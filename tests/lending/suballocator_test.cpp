// SPDX-License-Identifier: Apache-2.0
#include "lending/suballocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace aqua::lending {
namespace {

constexpr std::size_t kGranule = 512;
constexpr std::size_t kSlab = 64 * kGranule;

Suballocator make(std::size_t capacity, std::size_t alignment = kGranule) {
  auto made = Suballocator::create(capacity, {.alignment = alignment, .expected_blocks = 16});
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

void expect_code(const Result<void>& result, Code code) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().message;
}

TEST(Suballocator, WithoutRegionsHasNothingToGive) {
  Suballocator arena = make(4 * kSlab);
  const auto refused = arena.allocate(1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  EXPECT_NE(refused.error().message.find("0 bytes are free"), std::string::npos);
  EXPECT_EQ(arena.stats().free_bytes, 0U);
}

TEST(Suballocator, RefusesAlignmentsAndCapacitiesItCannotKeep) {
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{256}, std::size_t{768}}) {
    const auto made = Suballocator::create(kSlab, {.alignment = alignment});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::invalid_argument);
  }
  for (const std::size_t capacity :
       {std::size_t{0}, std::size_t{513}, std::numeric_limits<std::size_t>::max() - 511}) {
    const auto made = Suballocator::create(capacity);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::invalid_argument);
  }
}

TEST(Suballocator, RoundsUpToTheAlignmentAndStartsOnIt) {
  Suballocator arena = make(1 << 20, 4096);
  ASSERT_TRUE(arena.add_region(0, 1 << 20).ok());
  const auto small = arena.allocate(1);
  const auto odd = arena.allocate(4097);
  const auto exact = arena.allocate(4096);
  ASSERT_TRUE(small.ok() && odd.ok() && exact.ok());
  EXPECT_EQ(small->bytes, 4096U);
  EXPECT_EQ(odd->bytes, 8192U);
  EXPECT_EQ(exact->bytes, 4096U);
  for (const auto& a : {*small, *odd, *exact}) EXPECT_EQ(a.offset % 4096, 0U);
}

TEST(Suballocator, ZeroBytesIsAMistakeOfTheCaller) {
  Suballocator arena = make(kSlab);
  const auto refused = arena.allocate(0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
}

TEST(Suballocator, SizesThatWouldOverflowAreExhaustedNotWrapped) {
  Suballocator arena = make(4 * kSlab);
  ASSERT_TRUE(arena.add_region(0, 4 * kSlab).ok());
  for (const std::size_t bytes :
       {4 * kSlab + 1, std::numeric_limits<std::size_t>::max(),
        std::numeric_limits<std::size_t>::max() - 510, std::size_t{1} << 63}) {
    const auto refused = arena.allocate(bytes);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  }
  EXPECT_TRUE(arena.allocate(4 * kSlab).ok());
}

TEST(Suballocator, RegionsMustBeAlignedInsideAndDisjoint) {
  Suballocator arena = make(4 * kSlab);
  expect_code(arena.add_region(1, kSlab), Code::invalid_argument);
  expect_code(arena.add_region(0, 0), Code::invalid_argument);
  expect_code(arena.add_region(0, kGranule + 1), Code::invalid_argument);
  expect_code(arena.add_region(3 * kSlab, 2 * kSlab), Code::invalid_argument);
  expect_code(arena.add_region(4 * kSlab, std::numeric_limits<std::size_t>::max() - 511),
              Code::invalid_argument);
  ASSERT_TRUE(arena.add_region(kSlab, kSlab).ok());
  expect_code(arena.add_region(kSlab, kSlab), Code::already_exists);
  expect_code(arena.add_region(0, kSlab + kGranule), Code::already_exists);
  expect_code(arena.add_region(2 * kSlab - kGranule, kSlab), Code::already_exists);
  EXPECT_TRUE(arena.add_region(0, kSlab).ok());
  EXPECT_TRUE(arena.add_region(2 * kSlab, kSlab).ok());
  EXPECT_EQ(arena.stats().free_blocks, 1U);
}

TEST(Suballocator, AnAllocationSpansNeighbouringRegionsAddedInAnyOrder) {
  Suballocator arena = make(3 * kSlab);
  ASSERT_TRUE(arena.add_region(2 * kSlab, kSlab).ok());
  ASSERT_TRUE(arena.add_region(0, kSlab).ok());
  EXPECT_EQ(arena.allocate(kSlab + 1).error().code, Code::resource_exhausted);
  ASSERT_TRUE(arena.add_region(kSlab, kSlab).ok());
  const auto spanning = arena.allocate(3 * kSlab);
  ASSERT_TRUE(spanning.ok());
  EXPECT_EQ(spanning->offset, 0U);
  for (std::size_t slab = 0; slab < 3; ++slab) {
    EXPECT_EQ(arena.allocations_in(slab * kSlab, kSlab), std::vector{*spanning});
    EXPECT_FALSE(arena.region_empty(slab * kSlab, kSlab));
  }
}

TEST(Suballocator, FreeingTwiceOrSomethingElseIsRefusedAndChangesNothing) {
  Suballocator arena = make(kSlab);
  ASSERT_TRUE(arena.add_region(0, kSlab).ok());
  const auto first = arena.allocate(1024);
  ASSERT_TRUE(first.ok());
  Allocation wrong = *first;
  wrong.offset += kGranule;
  expect_code(arena.free(wrong), Code::invalid_argument);
  wrong = *first;
  wrong.bytes += kGranule;
  expect_code(arena.free(wrong), Code::invalid_argument);
  wrong = *first;
  wrong.node = 12345;
  expect_code(arena.free(wrong), Code::invalid_argument);
  EXPECT_EQ(arena.stats().allocated_bytes, 1024U);
  ASSERT_TRUE(arena.free(*first).ok());
  expect_code(arena.free(*first), Code::invalid_argument);

  const auto again = arena.allocate(1024);  // the same place, the same header
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->offset, first->offset);
  expect_code(arena.free(*first), Code::invalid_argument);
  EXPECT_TRUE(arena.free(*again).ok());
}

TEST(Suballocator, ARetiredRegionGivesNothingAndEmptiesAsItsBlocksAreFreed) {
  Suballocator arena = make(2 * kSlab);
  ASSERT_TRUE(arena.add_region(0, kSlab).ok());
  ASSERT_TRUE(arena.add_region(kSlab, kSlab).ok());
  const auto inside = arena.allocate(kSlab / 2);  // in the first slab
  const auto spanning = arena.allocate(kSlab);    // across the boundary
  ASSERT_TRUE(inside.ok() && spanning.ok());
  ASSERT_TRUE(arena.retire_region(0, kSlab).ok());
  ASSERT_TRUE(arena.retire_region(0, kSlab).ok());  // twice does nothing
  EXPECT_EQ(arena.stats().retired_bytes, kSlab);
  EXPECT_EQ(arena.stats().free_bytes, kSlab / 2);
  EXPECT_EQ(arena.allocations_in(0, kSlab), (std::vector{*inside, *spanning}));

  ASSERT_TRUE(arena.free(*inside).ok());
  EXPECT_EQ(arena.stats().free_bytes, kSlab / 2);  // it left, rather than coming back
  expect_code(arena.remove_region(0, kSlab), Code::failed_precondition);
  ASSERT_TRUE(arena.free(*spanning).ok());
  EXPECT_EQ(arena.stats().free_bytes, kSlab);  // its half in the second slab came back
  EXPECT_TRUE(arena.region_empty(0, kSlab));
  EXPECT_TRUE(arena.remove_region(0, kSlab).ok());
  EXPECT_EQ(arena.stats().retired_bytes, 0U);
  EXPECT_EQ(arena.allocate(kSlab + 1).error().code, Code::resource_exhausted);
}

TEST(Suballocator, ABlockAcrossTwoRetiredRegionsLeavesThroughBoth) {
  Suballocator arena = make(4 * kSlab);
  for (std::size_t slab = 0; slab < 4; ++slab) {
    ASSERT_TRUE(arena.add_region(slab * kSlab, kSlab).ok());
  }
  const auto all = arena.allocate(4 * kSlab);
  ASSERT_TRUE(all.ok());
  for (const std::size_t slab : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    ASSERT_TRUE(arena.retire_region(slab * kSlab, kSlab).ok());
  }
  ASSERT_TRUE(arena.free(*all).ok());
  EXPECT_EQ(arena.stats().free_bytes, kSlab);
  EXPECT_EQ(arena.stats().free_blocks, 1U);
  const auto rest = arena.allocate(kSlab);
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(rest->offset, 2 * kSlab);
}

TEST(Suballocator, ARegionMayReturnOnceRemovedAndNotBefore) {
  Suballocator arena = make(2 * kSlab);
  ASSERT_TRUE(arena.add_region(0, kSlab).ok());
  expect_code(arena.retire_region(kSlab, kSlab), Code::not_found);
  expect_code(arena.retire_region(0, kSlab / 2), Code::not_found);
  expect_code(arena.remove_region(0, kSlab), Code::failed_precondition);
  ASSERT_TRUE(arena.retire_region(0, kSlab).ok());
  expect_code(arena.add_region(0, kSlab), Code::already_exists);
  ASSERT_TRUE(arena.remove_region(0, kSlab).ok());
  expect_code(arena.remove_region(0, kSlab), Code::not_found);
  ASSERT_TRUE(arena.add_region(0, 2 * kSlab).ok());  // another size is fine
  EXPECT_TRUE(arena.allocate(2 * kSlab).ok());
}

TEST(Suballocator, FragmentationIsTheShareOfFreeBytesOutsideTheLargestBlock) {
  Suballocator arena = make(4 * kGranule);
  ASSERT_TRUE(arena.add_region(0, 4 * kGranule).ok());
  EXPECT_EQ(arena.stats().external_fragmentation(), 0.0);
  std::vector<Allocation> blocks;
  for (int i = 0; i < 4; ++i) {
    auto block = arena.allocate(kGranule);
    ASSERT_TRUE(block.ok());
    blocks.push_back(*block);
  }
  EXPECT_EQ(arena.stats().external_fragmentation(), 0.0);  // nothing free: nothing fragmented
  ASSERT_TRUE(arena.free(blocks[0]).ok());
  ASSERT_TRUE(arena.free(blocks[2]).ok());
  EXPECT_EQ(arena.stats().external_fragmentation(), 0.5);
  EXPECT_EQ(arena.stats().free_blocks, 2U);
}

// --- against a model that keeps an owner per granule ---------------------------------------

constexpr int kAbsent = -2;
constexpr int kFree = -1;

struct Model {
  explicit Model(std::size_t granules) : owner(granules, kAbsent) {}
  std::vector<int> owner;     // per granule: kAbsent, kFree or an allocation's index
  std::vector<bool> retired;  // per slab

  [[nodiscard]] std::vector<std::size_t> free_runs() const {
    std::vector<std::size_t> runs;
    for (std::size_t i = 0; i < owner.size(); ++i) {
      if (owner[i] != kFree) continue;
      if (i > 0 && owner[i - 1] == kFree) {
        ++runs.back();
      } else {
        runs.push_back(1);
      }
    }
    return runs;
  }
};

class AgainstModel : public ::testing::TestWithParam<unsigned> {
 protected:
  static constexpr std::size_t kSlabs = 24;
  static constexpr std::size_t kPerSlab = 64;

  AgainstModel() { model_.retired.assign(kSlabs, false); }

  void allocate() {
    const std::size_t most = rng_() % 8 == 0 ? 3 * kSlab : kSlab / 4;
    const std::size_t bytes = 1 + rng_() % most;
    const std::size_t need = (bytes + kGranule - 1) / kGranule;
    const auto got = arena_.allocate(bytes);
    if (!got.ok()) {
      ASSERT_EQ(got.error().code, Code::resource_exhausted);
      const auto runs = model_.free_runs();
      const auto longest = runs.empty() ? 0 : *std::max_element(runs.begin(), runs.end());
      // Short lists are searched to their end, so here a fit is never overlooked.
      if (runs.size() <= 32) {
        ASSERT_LT(longest, need);
      }
      return;
    }
    ASSERT_EQ(got->bytes, need * kGranule);
    for (std::size_t g = 0; g < need; ++g) {
      int& owner = model_.owner.at(got->offset / kGranule + g);
      ASSERT_EQ(owner, kFree) << "handed out twice, or absent";
      owner = static_cast<int>(live_.size());
    }
    live_.push_back(*got);
  }

  void free() {
    if (live_.empty()) return;
    const std::size_t victim = rng_() % live_.size();
    ASSERT_TRUE(arena_.free(live_[victim]).ok());
    expect_code(arena_.free(live_[victim]), Code::invalid_argument);
    const auto last = static_cast<int>(live_.size() - 1);
    for (std::size_t g = 0; g < model_.owner.size(); ++g) {
      int& owner = model_.owner[g];
      if (owner == static_cast<int>(victim)) {
        owner = model_.retired[g / kPerSlab] ? kAbsent : kFree;
      } else if (owner == last) {
        owner = static_cast<int>(victim);
      }
    }
    live_[victim] = live_.back();
    live_.pop_back();
  }

  void change_region() {
    const std::size_t slab = rng_() % kSlabs;
    const auto first = model_.owner.begin() + static_cast<std::ptrdiff_t>(slab * kPerSlab);
    const auto last = first + static_cast<std::ptrdiff_t>(kPerSlab);
    const bool empty = std::all_of(first, last, [](int o) { return o < 0; });
    ASSERT_EQ(arena_.region_empty(slab * kSlab, kSlab), empty);
    if (added_[slab] && !model_.retired[slab]) {
      ASSERT_TRUE(arena_.retire_region(slab * kSlab, kSlab).ok());
      std::replace(first, last, kFree, kAbsent);
      model_.retired[slab] = true;
    } else if (added_[slab]) {
      ASSERT_EQ(arena_.remove_region(slab * kSlab, kSlab).ok(), empty);
      if (empty) added_[slab] = model_.retired[slab] = false;
    } else {
      ASSERT_TRUE(arena_.add_region(slab * kSlab, kSlab).ok());
      std::replace(first, last, kAbsent, kFree);
      added_[slab] = true;
    }
  }

  void check() {
    const auto runs = model_.free_runs();
    std::size_t free = 0;
    for (const std::size_t run : runs) free += run;
    const auto used = std::count_if(model_.owner.begin(), model_.owner.end(),
                                    [](int owner) { return owner >= 0; });
    const SuballocatorStats stats = arena_.stats();
    ASSERT_EQ(stats.free_bytes, free * kGranule);
    ASSERT_EQ(stats.free_blocks, runs.size()) << "free neighbours were not joined";
    ASSERT_EQ(stats.largest_free_bytes,
              runs.empty() ? 0 : *std::max_element(runs.begin(), runs.end()) * kGranule);
    ASSERT_EQ(stats.allocated_bytes, static_cast<std::size_t>(used) * kGranule);
    ASSERT_EQ(stats.allocations, live_.size());

    const std::size_t from = rng_() % (kSlabs * kPerSlab);
    const std::size_t count = 1 + rng_() % (2 * kPerSlab);
    std::vector<Allocation> touching;
    for (std::size_t g = from; g < std::min(from + count, model_.owner.size()); ++g) {
      if (model_.owner[g] < 0) continue;
      const Allocation& a = live_[static_cast<std::size_t>(model_.owner[g])];
      if (touching.empty() || !(touching.back() == a)) touching.push_back(a);
    }
    ASSERT_EQ(arena_.allocations_in(from * kGranule, count * kGranule), touching);
  }

  std::mt19937 rng_{GetParam()};
  Suballocator arena_ = make(kSlabs * kSlab);
  Model model_{kSlabs * kPerSlab};
  std::vector<bool> added_ = std::vector<bool>(kSlabs, false);
  std::vector<Allocation> live_;
};

TEST_P(AgainstModel, EveryStepConservesBytesOverlapsNothingAndJoinsFreeNeighbours) {
  for (int step = 0; step < 4000 && !HasFatalFailure(); ++step) {
    // Alternate between filling up and draining, so that both extremes are met.
    const unsigned allocate_share = step / 500 % 2 == 0 ? 60 : 35;
    const auto dice = rng_() % 100;
    if (dice < allocate_share) {
      allocate();
    } else if (dice < 92) {
      free();
    } else {
      change_region();
    }
    if (!HasFatalFailure()) check();
  }
}

TEST_P(AgainstModel, WhenAllIsFreedAndRetiredNothingIsLeft) {
  for (int step = 0; step < 500 && !HasFatalFailure(); ++step) {
    if (step % 5 == 0) change_region();
    if (!HasFatalFailure()) allocate();
  }
  for (std::size_t slab = 0; slab < kSlabs; ++slab) {
    if (added_[slab]) {
      ASSERT_TRUE(arena_.retire_region(slab * kSlab, kSlab).ok());
    }
  }
  EXPECT_EQ(arena_.stats().free_bytes, 0U);
  for (const Allocation& a : live_) ASSERT_TRUE(arena_.free(a).ok());
  for (std::size_t slab = 0; slab < kSlabs; ++slab) {
    if (added_[slab]) {
      ASSERT_TRUE(arena_.remove_region(slab * kSlab, kSlab).ok());
    }
  }
  EXPECT_EQ(arena_.stats().free_bytes, 0U);
  EXPECT_EQ(arena_.stats().allocated_bytes, 0U);
  EXPECT_EQ(arena_.stats().retired_bytes, 0U);
  ASSERT_TRUE(arena_.add_region(0, kSlabs * kSlab).ok());
  EXPECT_TRUE(arena_.allocate(kSlabs * kSlab).ok());
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgainstModel, ::testing::Range(1U, 9U),
                         ::testing::PrintToStringParamName());

TEST(Suballocator, FindsTheFirstBlockOfARangeAcrossPagesOfItsIndex) {
  // Blocks larger and smaller than the 2 MiB pages by which the arena is searched.
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  Suballocator arena = make(64 * kMiB);
  ASSERT_TRUE(arena.add_region(0, 64 * kMiB).ok());
  std::vector<Allocation> all;
  for (const std::size_t bytes : {9 * kMiB, kMiB, 512 * std::size_t{1}, 11 * kMiB, 3 * kMiB}) {
    const auto got = arena.allocate(bytes);
    ASSERT_TRUE(got.ok());
    all.push_back(*got);
  }
  for (const Allocation& a : all) {
    EXPECT_EQ(arena.allocations_in(a.offset, 1), std::vector{a});
    EXPECT_EQ(arena.allocations_in(a.offset + a.bytes - 1, 1), std::vector{a});
    EXPECT_EQ(arena.allocations_in(a.offset + a.bytes / 2, 1), std::vector{a});
  }
  EXPECT_EQ(arena.allocations_in(0, 64 * kMiB), all);
  EXPECT_TRUE(arena.allocations_in(64 * kMiB, 1).empty());
  EXPECT_TRUE(arena.region_empty(40 * kMiB, std::numeric_limits<std::size_t>::max()));
}

}  // namespace
}  // namespace aqua::lending
