// SPDX-License-Identifier: Apache-2.0
// Disk tiers whose disk stands still, breaks, decays or is full: nobody waits for it, and nothing
// that was durable is lost.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "tests/tools/keeper/tier_in_memory.hpp"

namespace aqua::keeper::test {
namespace {

// A write, or the end of a file, stands still until it is let go on.
class GatedDirectory final : public LogDirectory {
 public:
  struct Gate {
    std::binary_semaphore arrived{0}, go_on{0};
    std::atomic<bool> closed{false}, closed_for_removal{false};
    std::atomic<bool> syncs_fail{false};
  };
  GatedDirectory(MemoryDisk& disk, Gate& gate) : inner_(disk), gate_(gate) {}
  Result<std::vector<Entry>> list() override { return inner_.list(); }
  Result<void> create(LogFile file) override { return inner_.create(file); }
  Result<void> remove(LogFile file) override {
    pass(gate_.closed_for_removal);
    return inner_.remove(file);
  }
  Result<void> write(LogFile file, std::uint64_t offset,
                     std::span<const std::byte> bytes) override {
    pass(gate_.closed);
    return inner_.write(file, offset, bytes);
  }
  Result<void> sync(LogFile file) override {
    if (gate_.syncs_fail) return Error{Code::internal, "an I/O error"};
    return inner_.sync(file);
  }
  Result<void> truncate(LogFile file, std::uint64_t bytes) override {
    return inner_.truncate(file, bytes);
  }
  void discard(LogFile file, std::uint64_t offset, std::uint64_t bytes) override {
    inner_.discard(file, offset, bytes);
  }
  Result<void> read(LogFile file, std::uint64_t offset, std::span<std::byte> into) override {
    return inner_.read(file, offset, into);
  }

 private:
  void pass(std::atomic<bool>& closed) {
    if (!closed.exchange(false)) return;
    gate_.arrived.release();
    gate_.go_on.acquire();
  }

  MemoryDirectory inner_;
  Gate& gate_;
};

// A disk that stands still keeps nobody waiting, and what its writer has got back is not written.
TEST(DiskTier, WhatIsDroppedWhileItIsWrittenIsNotOffered) {
  constexpr std::uint64_t kRoomy = std::uint64_t{64} << 20;
  for (const std::uint64_t bytes : {std::uint64_t{5000}, std::uint64_t{3} << 20}) {
    MemoryDisk disk;
    GatedDirectory::Gate gate;
    {
      const auto tier =
          DiskTier::open("/disk", std::make_unique<GatedDirectory>(disk, gate), kRoomy).value();
      tier->start();
      const Segment one = make_segment(1, 1, bytes, /*with_digest=*/false),
                    other = make_segment(2, 1, 100), gone = make_segment(3, 1, 100);
      gate.closed = true;
      tier->committed(one.name, one.memory);
      gate.arrived.acquire();
      tier->committed(other.name, other.memory);
      tier->committed(gone.name, gone.memory);
      EXPECT_EQ(tier->status().pending, (SegmentSum{3, bytes + 200}));
      EXPECT_FALSE(tier->wait_until_written(std::chrono::milliseconds(0)));
      EXPECT_TRUE(tier->dropped(1, 1));
      EXPECT_FALSE(tier->dropped(1, 1));
      EXPECT_TRUE(tier->dropped(3, 1));
      overwrite(one);
      EXPECT_EQ(tier->status().pending, (SegmentSum{1, 100}));
      gate.go_on.release();
      ASSERT_TRUE(tier->wait_until_written(kPatience));
      EXPECT_EQ(tier->status().durable, (SegmentSum{1, 100}));
      EXPECT_EQ(tier->status().error, "");
      // No further piece of a longer segment was written, and the first is cut off.
      if (bytes > 1 << 20) {
        EXPECT_LT(tier->status().file_bytes, 1U << 20);
      }
    }
    const auto tier = open_tier(disk, kRoomy);
    const Offered offered = offered_by(*tier);
    EXPECT_EQ(offered.size(), 1U) << bytes;
  }
}

TEST(DiskTier, NobodyWaitsUntilItIsCleaned) {
  MemoryDisk disk;
  GatedDirectory::Gate gate;
  const auto tier =
      DiskTier::open("/disk", std::make_unique<GatedDirectory>(disk, gate), kQuota).value();
  tier->start();
  for (const std::uint64_t number : {1U, 2U}) {
    const Segment one = make_segment(number, 1, 9000);  // more than a file
    tier->committed(one.name, one.memory);
  }
  ASSERT_TRUE(tier->wait_until_written(kPatience));
  gate.closed_for_removal = true;
  for (const std::uint64_t number : {1U, 2U}) EXPECT_TRUE(tier->dropped(number, 1));
  gate.arrived.acquire();  // both are erased, and nothing is left of the first file
  EXPECT_TRUE(tier->wait_until_written(std::chrono::milliseconds(0)));
  gate.go_on.release();
}

TEST(DiskTier, OnceASyncHasFailedDropsAreNotTried) {
  MemoryDisk disk;
  GatedDirectory::Gate gate;
  const auto tier =
      DiskTier::open("/disk", std::make_unique<GatedDirectory>(disk, gate), kQuota).value();
  tier->start();
  const Segment first = make_segment(1, 1, 100), second = make_segment(2, 1, 100);
  tier->committed(first.name, first.memory);
  ASSERT_TRUE(tier->wait_until_written(kPatience));
  gate.syncs_fail = true;
  tier->committed(second.name, second.memory);
  ASSERT_TRUE(tier->wait_until_written(kPatience));
  EXPECT_FALSE(tier->status().writes);
  EXPECT_EQ(tier->status().memory_only, (SegmentSum{1, 100}));
  EXPECT_TRUE(tier->durable(1, 1));
  EXPECT_TRUE(tier->dropped(1, 1));
  ASSERT_TRUE(tier->wait_until_written(kPatience));
  EXPECT_EQ(tier->status().error, "sync: an I/O error") << "which is why";
}

TEST(DiskTier, WhatHasChangedOnTheDiskIsNotOfferedAndIsNamed) {
  MemoryDisk disk;
  const Segment first = make_segment(1, 1, 3000), second = make_segment(2, 1, 3000);
  {
    const auto tier = open_tier(disk);
    tier->start();
    for (const Segment& one : {first, second}) {
      tier->committed(one.name, one.memory);
      ASSERT_TRUE(tier->wait_until_written(kPatience));
    }
  }
  Bytes& file = disk.files.begin()->second.durable;
  file.at(1000) ^= std::byte{1};  // in the first one's body
  {
    const auto tier = open_tier(disk);
    const Offered offered = offered_by(*tier);
    EXPECT_EQ(offered.size(), 1U);
    EXPECT_TRUE(offered.has(second));
    EXPECT_EQ(tier->status().left, (SegmentSum{1, 3000}));
    EXPECT_NE(tier->status().error.find("segment 1 of generation 1 stays on the disk alone"),
              std::string::npos);
    tier->start();
    EXPECT_TRUE(tier->dropped(1, 1)) << "nobody needs it";
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    EXPECT_EQ(tier->status().left, SegmentSum{});
  }
  EXPECT_EQ(offered_by(disk).size(), 1U);
}

// Cleaning finds it, and the disk breaks before it is written again.
TEST(DiskTier, WhatHasChangedAndCannotBeWrittenAgainIsNotDurable) {
  int seen = 0;
  for (std::size_t cut_in = 1;; ++cut_in) {
    MemoryDisk disk;
    {
      const auto tier = open_tier(disk);
      tier->start();
      for (std::uint64_t number = 1; number <= 4; ++number) {
        const Segment one = make_segment(number, 1, 5000);
        tier->committed(one.name, one.memory);
        ASSERT_TRUE(tier->wait_until_written(kPatience));
      }
    }
    const auto tier = open_tier(disk);
    const Offered offered = offered_by(*tier);
    disk.files.begin()->second.durable.at(1000) ^= std::byte{1};  // in the first one's body
    disk.cut_at = disk.calls + cut_in;
    tier->start();
    for (std::uint64_t number = 2; number <= 4; ++number) EXPECT_TRUE(tier->dropped(number, 1));
    const auto changed = [&] {
      return tier->status().error == "segment 1 of generation 1: it has changed on the disk";
    };
    while (!changed() && tier->status().writes) std::this_thread::yield();
    if (tier->status().writes) break;  // it was found before
    if (!changed()) continue;
    ++seen;
    EXPECT_FALSE(tier->durable(1, 1)) << cut_in;
    EXPECT_EQ(tier->status().memory_only, (SegmentSum{1, 5000})) << cut_in;
  }
  EXPECT_GT(seen, 0);
}

TEST(DiskTier, AFullDiskTakesNothingAwayAndIsNamed) {
  MemoryDisk disk;
  const Segment first = make_segment(1, 1, 3000), second = make_segment(2, 1, 3000);
  {
    const auto tier = open_tier(disk);
    tier->start();
    tier->committed(first.name, first.memory);
    ASSERT_TRUE(tier->wait_until_written(kPatience));
  }
  {
    disk.full_at = 1;  // its first write
    const auto tier = open_tier(disk);
    EXPECT_EQ(offered_by(*tier).size(), 1U);
    tier->start();
    tier->committed(second.name, second.memory);
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    EXPECT_EQ(tier->status().durable, (SegmentSum{1, 3000}));
    EXPECT_EQ(tier->status().memory_only, (SegmentSum{1, 3000}));
    EXPECT_NE(tier->status().error.find("the disk is full"), std::string::npos);
  }
  disk.full_at = 0;
  const Offered offered = offered_by(disk);
  EXPECT_EQ(offered.size(), 1U);
  EXPECT_TRUE(offered.has(first));
}

// Commits these, of 3000 bytes each, to a disk that has no room for the last one.
std::unique_ptr<DiskTier> fill_disk(MemoryDisk& disk, std::uint64_t quota, std::uint64_t segments) {
  auto tier = open_tier(disk, quota);
  tier->start();
  for (std::uint64_t number = 1; number <= segments; ++number) {
    const Segment one = make_segment(number, 1, 3000);
    tier->committed(one.name, one.memory);
  }
  EXPECT_TRUE(tier->wait_until_written(kPatience));
  EXPECT_EQ(tier->status().durable, (SegmentSum{segments - 1, 3000 * (segments - 1)}));
  EXPECT_EQ(tier->status().memory_only, (SegmentSum{1, 3000}));
  return tier;
}

TEST(DiskTier, OnAFullDiskWhatIsDroppedMakesRoomForWhatWaits) {
  constexpr std::uint64_t kRoomy = std::uint64_t{1} << 20;  // no file is ever cleaned
  MemoryDisk disk;
  disk.room = 23500;
  {
    const auto tier = fill_disk(disk, kRoomy, 8);
    EXPECT_TRUE(tier->dropped(2, 1));
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    EXPECT_TRUE(tier->durable(8, 1));
    EXPECT_EQ(tier->status().memory_only, SegmentSum{});
  }
  const Offered offered = offered_by(*open_tier(disk, kRoomy));
  EXPECT_EQ(offered.size(), 7U);
  for (const std::uint64_t number : {1U, 3U, 8U}) {
    EXPECT_TRUE(offered.has(make_segment(number, 1, 3000))) << number;
  }
}

// What a drop takes on the disk until its room is given back.
std::size_t bytes_of_a_drop(std::uint64_t quota) {
  MemoryDisk disk;
  disk.discards = false;
  const auto tier = open_tier(disk, quota);
  tier->start();
  const Segment one = make_segment(1, 1, 3000);
  tier->committed(one.name, one.memory);
  EXPECT_TRUE(tier->wait_until_written(kPatience));
  const std::size_t before = disk.used();
  EXPECT_TRUE(tier->dropped(1, 1));
  EXPECT_TRUE(tier->wait_until_written(kPatience));
  return disk.used() - before;
}

// The first of two drops that come together finds the last bytes of the disk; what it gives back
// is enough for the second one.
TEST(DiskTier, OnAFullDiskOneDropMakesRoomForTheNext) {
  constexpr std::uint64_t kRoomy = std::uint64_t{1} << 20;
  const std::size_t of_a_drop = bytes_of_a_drop(kRoomy);
  ASSERT_GT(of_a_drop, 0U);
  MemoryDisk disk;
  disk.room = 23500;
  const auto tier = fill_disk(disk, kRoomy, 8);
  disk.room = disk.used();
  EXPECT_TRUE(tier->dropped(2, 1));
  ASSERT_TRUE(tier->wait_until_written(kPatience));
  EXPECT_NE(tier->status().error.find("the disk is full"), std::string::npos);
  disk.room += of_a_drop + of_a_drop / 2;
  EXPECT_TRUE(tier->dropped(3, 1));  // together with the one that waits
  ASSERT_TRUE(tier->wait_until_written(kPatience));
  EXPECT_TRUE(tier->durable(8, 1));
  EXPECT_EQ(tier->status().memory_only, SegmentSum{});
}

// The disk gives back whole files alone.
TEST(DiskTier, WhatHadNoRoomIsTriedAgainWhenAFileIsCleaned) {
  MemoryDisk disk;
  disk.room = 23500;
  disk.discards = false;
  const auto tier = fill_disk(disk, kQuota, 8);
  for (std::uint64_t number = 1; number <= 6; ++number) EXPECT_TRUE(tier->dropped(number, 1));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!tier->durable(8, 1) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();  // nobody waits for cleaning
  }
  EXPECT_TRUE(tier->durable(8, 1));
  EXPECT_TRUE(tier->durable(7, 1));
}

}  // namespace
}  // namespace aqua::keeper::test
