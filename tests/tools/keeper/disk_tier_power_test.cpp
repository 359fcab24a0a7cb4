// SPDX-License-Identifier: Apache-2.0
// The power is cut at each call that a disk tier makes of its disk. What it had said to be durable
// is offered afterwards with its bytes, and nothing is that was never committed, or was erased.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <utility>

#include "tests/tools/keeper/kept_segments.hpp"
#include "tests/tools/keeper/memory_directory.hpp"
#include "tools/keeper/disk/disk_tier.hpp"

namespace aqua::keeper::test {
namespace {

constexpr std::chrono::seconds kLongEnough{60};
constexpr std::uint64_t kTightQuota = 16384;  // files of 2 KiB: they are cleaned all the time

Result<std::unique_ptr<DiskTier>> open_on(MemoryDisk& disk, std::uint64_t seed) {
  return DiskTier::open("/disk", std::make_unique<MemoryDirectory>(disk, seed), kTightQuota);
}

// What a keeper has committed and dropped, and what it has been told of that.
struct Kept {
  Segment segment;
  bool durable = false;  // the tier has said so
  bool dropped = false;
  bool erased = false;  // and has had the time to do it
};
using All = std::map<std::pair<std::uint64_t, std::uint64_t>, Kept>;

void look_at(DiskTier& tier, All& all) {
  for (auto& [id, kept] : all) {
    if (!kept.dropped && tier.durable(id.first, id.second)) kept.durable = true;
  }
}

// A life of a keeper, until its power is cut or it has done enough.
void live(DiskTier& tier, std::mt19937_64& random, All& all) {
  std::map<std::uint64_t, std::uint64_t> generations;
  for (const auto& [id, kept] : all) generations[id.first] = id.second;
  for (int i = 0; i < 14; ++i) {
    const std::uint64_t number = 1 + random() % 5;
    const std::pair id{number, generations[number]};
    if (const auto now = all.find(id); now != all.end() && !now->second.dropped) {
      tier.dropped(id.first, id.second);
      now->second.dropped = true;
    } else {
      const std::uint64_t generation = ++generations[number];
      Kept& kept = all[{number, generation}];
      kept.segment = make_segment(number, generation, random() % 1500, random() % 2 == 0);
      tier.committed(kept.segment.name, kept.segment.memory);
    }
    if (random() % 2 == 0) continue;
    ASSERT_TRUE(tier.wait_until_written(kLongEnough));
    look_at(tier, all);
    if (!tier.status().writes) return;
    for (auto& [key, kept] : all) kept.erased = kept.dropped;
  }
  look_at(tier, all);
}

void expect_kept(const Offered& offered, const All& all) {
  for (const auto& [id, kept] : all) {
    if (kept.durable && !kept.dropped) {
      EXPECT_TRUE(offered.has(kept.segment)) << id.first << " " << id.second;
    }
    if (kept.erased) {
      EXPECT_FALSE(offered.all().contains(id)) << id.first << " " << id.second;
    }
  }
  for (const auto& [id, one] : offered.all()) {
    ASSERT_TRUE(all.contains(id)) << id.first << " " << id.second;
    EXPECT_TRUE(offered.has(all.at(id).segment)) << id.first << " " << id.second;
  }
}

TEST(DiskTierPower, CutAtEachCallLosesNothingThatWasDurable) {
  std::size_t cuts = 0, durable = 0, erased = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (std::size_t cut_at = 1;; ++cut_at) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(cut_at));
      MemoryDisk disk;
      disk.cut_at = cut_at;
      std::mt19937_64 random(seed);
      All all;
      if (const auto tier = open_on(disk, seed); tier.ok()) {
        (*tier)->start();
        live(**tier, random, all);
      }
      if (!disk.dark) break;  // it was over before
      ++cuts;
      // A second life on what is left of the first one, and a third one to look.
      for (int life = 0; life < 2; ++life) {
        disk.come_back(random);
        const auto tier = open_on(disk, seed);
        ASSERT_TRUE(tier.ok()) << tier.error().message;
        Offered offered;
        (*tier)->offer_all([&](const LoggedSegment& segment, const DiskTier::Fill& fill) {
          return offered.take(segment, fill);
        });
        expect_kept(offered, all);
        for (const auto& [id, kept] : all) durable += kept.durable, erased += kept.erased;
        std::erase_if(all, [&](const auto& one) { return !offered.all().contains(one.first); });
        for (auto& [id, kept] : all) kept.dropped = kept.erased = false;
        (*tier)->start();
        live(**tier, random, all);
        ASSERT_TRUE((*tier)->wait_until_written(kLongEnough));
        look_at(**tier, all);
        for (auto& [id, kept] : all) kept.erased = kept.dropped;
      }
    }
    if (HasFailure()) return;
  }
  RecordProperty("cuts", static_cast<int>(cuts));
  EXPECT_GT(cuts, 500U);
  EXPECT_GT(durable, 1000U);
  EXPECT_GT(erased, 500U);
}

}  // namespace
}  // namespace aqua::keeper::test
