// SPDX-License-Identifier: Apache-2.0
// The suballocator against a model that keeps a list of everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "tests/lending/suballocator/arena.hpp"

namespace aqua::lending {
namespace {

using namespace arena_of_regions;

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
    const std::size_t most = rng_() % 8 == 0 ? 3 * kArenaSlab : kArenaSlab / 4;
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
    ASSERT_EQ(arena_.region_empty(slab * kArenaSlab, kArenaSlab), empty);
    if (added_[slab] && !model_.retired[slab]) {
      ASSERT_TRUE(arena_.retire_region(slab * kArenaSlab, kArenaSlab).ok());
      std::replace(first, last, kFree, kAbsent);
      model_.retired[slab] = true;
    } else if (added_[slab]) {
      ASSERT_EQ(arena_.remove_region(slab * kArenaSlab, kArenaSlab).ok(), empty);
      if (empty) added_[slab] = model_.retired[slab] = false;
    } else {
      ASSERT_TRUE(arena_.add_region(slab * kArenaSlab, kArenaSlab).ok());
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
  Suballocator arena_ = make(kSlabs * kArenaSlab);
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
      ASSERT_TRUE(arena_.retire_region(slab * kArenaSlab, kArenaSlab).ok());
    }
  }
  EXPECT_EQ(arena_.stats().free_bytes, 0U);
  for (const Allocation& a : live_) ASSERT_TRUE(arena_.free(a).ok());
  for (std::size_t slab = 0; slab < kSlabs; ++slab) {
    if (added_[slab]) {
      ASSERT_TRUE(arena_.remove_region(slab * kArenaSlab, kArenaSlab).ok());
    }
  }
  EXPECT_EQ(arena_.stats().free_bytes, 0U);
  EXPECT_EQ(arena_.stats().allocated_bytes, 0U);
  EXPECT_EQ(arena_.stats().retired_bytes, 0U);
  ASSERT_TRUE(arena_.add_region(0, kSlabs * kArenaSlab).ok());
  EXPECT_TRUE(arena_.allocate(kSlabs * kArenaSlab).ok());
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgainstModel, ::testing::Range(1U, 9U),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace aqua::lending
