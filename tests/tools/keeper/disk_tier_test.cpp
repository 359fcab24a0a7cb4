// SPDX-License-Identifier: Apache-2.0
// A disk tier over a disk in memory: what it writes is offered again with the same bytes, what is
// dropped is not, and whatever the disk does, nothing that was durable is lost.
#include "tools/keeper/disk/disk_tier.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>
#include <memory>
#include <semaphore>
#include <string>

#include "tests/tools/keeper/kept_segments.hpp"
#include "tests/tools/keeper/memory_directory.hpp"
#include "tools/keeper/disk/segment_key.hpp"

namespace aqua::keeper::test {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr std::uint64_t kQuota = std::uint64_t{64} << 10;  // files of 8 KiB

std::unique_ptr<DiskTier> open_tier(MemoryDisk& disk, std::uint64_t quota = kQuota) {
  auto tier = DiskTier::open("/disk", std::make_unique<MemoryDirectory>(disk), quota);
  EXPECT_TRUE(tier.ok()) << tier.error().message;
  return *std::move(tier);
}
// What a tier that is opened anew offers, and keeps.
Offered offered_by(DiskTier& tier) {
  Offered offered;
  tier.offer_all([&](const SegmentName& name, const DiskTier::Fill& fill) {
    return offered.take(name, fill);
  });
  return offered;
}
Offered offered_by(MemoryDisk& disk) {
  const auto tier = open_tier(disk);
  return offered_by(*tier);
}

TEST(SegmentKey, SaysANameAndIsReadAsThatAlone) {
  const SegmentName name{.number = 12, .generation = 3, .bytes = 5, .digest = {0, 1, 0xab}};
  EXPECT_EQ(key_of(name), "segment 12 3 0001ab00000000000000000000000000");
  EXPECT_EQ(segment_of(key_of(name), 5), name);
  const std::string digest(32, '0');
  for (const std::string& key : std::initializer_list<std::string>{
           "", "segment 12 3", "segment 12 3 " + digest + "0", "segment 012 3 " + digest,
           "segment 0 3 " + digest, "segment 12 0 " + digest, "segment 12  3 " + digest,
           "segment -1 3 " + digest, "segment 18446744073709551616 3 " + digest,
           "segment 1000000000000001 3 " + digest, "parcel 12 3 " + digest,
           "segment 12 3 " + std::string(32, 'A'), "segment 12 3" + digest + " "}) {
    EXPECT_FALSE(segment_of(key, 5)) << key;
  }
}

TEST(DiskTier, OffersWhatWasWrittenWithItsBytes) {
  MemoryDisk disk;
  const Segment first = make_segment(1, 1, 5000), second = make_segment(2, 7, 0),
                third = make_segment(3, 1, 9000, /*with_digest=*/false);
  {
    const auto tier = open_tier(disk);
    EXPECT_EQ(offered_by(*tier).size(), 0U);
    tier->start();
    for (const Segment& one : {first, second, third}) tier->committed(one.name, one.memory);
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    for (const Segment& one : {first, second, third}) {
      EXPECT_TRUE(tier->durable(one.name.number, one.name.generation));
    }
    EXPECT_FALSE(tier->durable(1, 2));
    const SegmentDisk status = tier->status();
    EXPECT_EQ(status.durable, (SegmentSum{3, 14000}));
    EXPECT_EQ(status.pending, SegmentSum{});
    EXPECT_EQ(status.directory, "/disk");
    EXPECT_EQ(status.quota_bytes, kQuota);
    EXPECT_GT(status.file_bytes, 14000U);
    EXPECT_TRUE(status.writes);
    EXPECT_EQ(status.error, "");
  }
  const auto tier = open_tier(disk);
  EXPECT_EQ(tier->status().left, (SegmentSum{3, 14000})) << "until they are offered";
  const Offered offered = offered_by(*tier);
  EXPECT_EQ(offered.size(), 3U);
  for (const Segment& one : {first, second, third}) EXPECT_TRUE(offered.has(one));
  EXPECT_EQ(tier->status().durable, (SegmentSum{3, 14000}));
}

TEST(DiskTier, WhatWasDroppedIsErased) {
  MemoryDisk disk;
  const Segment kept = make_segment(1, 1, 3000), dropped = make_segment(2, 1, 3000),
                later = make_segment(2, 2, 2000);
  {
    const auto tier = open_tier(disk);
    tier->start();
    tier->committed(kept.name, kept.memory);
    tier->committed(dropped.name, dropped.memory);
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    EXPECT_TRUE(tier->dropped(2, 1));
    EXPECT_FALSE(tier->dropped(2, 1)) << "once";
    EXPECT_FALSE(tier->dropped(9, 1));
    tier->committed(later.name, later.memory);
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    EXPECT_EQ(tier->status().durable, (SegmentSum{2, 5000}));
  }
  const Offered offered = offered_by(disk);
  EXPECT_EQ(offered.size(), 2U);
  EXPECT_TRUE(offered.has(kept));
  EXPECT_TRUE(offered.has(later));
}

// Writes stand still until they are let go on.
class GatedDirectory final : public LogDirectory {
 public:
  struct Gate {
    std::binary_semaphore arrived{0}, go_on{0};
    std::atomic<bool> closed{false};
  };
  GatedDirectory(MemoryDisk& disk, Gate& gate) : inner_(disk), gate_(gate) {}
  Result<std::vector<Entry>> list() override { return inner_.list(); }
  Result<void> create(LogFile file) override { return inner_.create(file); }
  Result<void> remove(LogFile file) override { return inner_.remove(file); }
  Result<void> write(LogFile file, std::uint64_t offset,
                     std::span<const std::byte> bytes) override {
    if (gate_.closed.exchange(false)) {
      gate_.arrived.release();
      gate_.go_on.acquire();
    }
    return inner_.write(file, offset, bytes);
  }
  Result<void> sync(LogFile file) override { return inner_.sync(file); }
  Result<void> truncate(LogFile file, std::uint64_t bytes) override {
    return inner_.truncate(file, bytes);
  }
  Result<void> read(LogFile file, std::uint64_t offset, std::span<std::byte> into) override {
    return inner_.read(file, offset, into);
  }

 private:
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
      // Of a longer one no further piece was written, and the first is cut off.
      if (bytes > 1 << 20) {
        EXPECT_LT(tier->status().file_bytes, 1U << 20);
      }
    }
    const auto tier = open_tier(disk, kRoomy);
    const Offered offered = offered_by(*tier);
    EXPECT_EQ(offered.size(), 1U) << bytes;
  }
}

TEST(DiskTier, WhatDoesNotFitStaysInMemoryUntilThereIsRoom) {
  MemoryDisk disk;
  const Segment first = make_segment(1, 1, 40000), second = make_segment(2, 1, 30000);
  {
    const auto tier = open_tier(disk);
    tier->start();
    tier->committed(first.name, first.memory);
    tier->committed(second.name, second.memory);
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    EXPECT_EQ(tier->status().durable, (SegmentSum{1, 40000}));
    EXPECT_EQ(tier->status().memory_only, (SegmentSum{1, 30000}));
    EXPECT_NE(tier->status().error.find("segment 2 of generation 1 stays in memory alone"),
              std::string::npos);
    EXPECT_TRUE(tier->status().writes);
    EXPECT_TRUE(tier->dropped(1, 1));
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    EXPECT_EQ(tier->status().durable, (SegmentSum{1, 30000}));
    EXPECT_EQ(tier->status().memory_only, SegmentSum{});
  }
  const Offered offered = offered_by(disk);
  EXPECT_EQ(offered.size(), 1U);
  EXPECT_TRUE(offered.has(second));
}

TEST(DiskTier, BytesThatAreNotThoseOfTheDigestAreNotWritten) {
  MemoryDisk disk;
  {
    const auto tier = open_tier(disk);
    tier->start();
    const Segment wrong = make_segment(1, 1, 3000);
    overwrite(wrong);
    tier->committed(wrong.name, wrong.memory);
    Segment empty = make_segment(2, 1, 0);
    empty.name.digest = {1};
    tier->committed(empty.name, empty.memory);
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    EXPECT_EQ(tier->status().memory_only, (SegmentSum{2, 3000}));
    EXPECT_NE(tier->status().error.find("not those of the digest"), std::string::npos);
  }
  EXPECT_EQ(offered_by(disk).size(), 0U);
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

TEST(DiskTier, WhatThereIsNoMemoryForStaysOnTheDisk) {
  MemoryDisk disk;
  const Segment one = make_segment(1, 1, 3000);
  {
    const auto tier = open_tier(disk);
    tier->start();
    tier->committed(one.name, one.memory);
    ASSERT_TRUE(tier->wait_until_written(kPatience));
  }
  {
    const auto tier = open_tier(disk);
    tier->offer_all([](const SegmentName&, const DiskTier::Fill&) -> Result<DiskTier::Memory> {
      return Error{Code::resource_exhausted, "no memory"};
    });
    EXPECT_EQ(tier->status().left, (SegmentSum{1, 3000}));
    EXPECT_FALSE(tier->durable(1, 1)) << "nobody can read it now";
  }
  EXPECT_TRUE(offered_by(disk).has(one));
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

TEST(DiskTier, ALogOfSomethingElseIsLeftAlone) {
  MemoryDisk disk;
  {
    auto log = BlobLog::open(std::make_unique<MemoryDirectory>(disk),
                             {.most_bytes = kQuota, .file_bytes = kQuota / 8});
    ASSERT_TRUE(log->put("sequence 7", Bytes(10)).ok());
    ASSERT_TRUE(log->sync().ok());
  }
  const auto tier = DiskTier::open("/disk", std::make_unique<MemoryDirectory>(disk), kQuota);
  ASSERT_FALSE(tier.ok());
  EXPECT_EQ(tier.error().code, Code::failed_precondition);
  EXPECT_NE(tier.error().message.find("'sequence 7'"), std::string::npos) << tier.error().message;
}

TEST(DiskTier, AQuotaThatCannotBeIsRefused) {
  MemoryDisk disk;
  const auto tier = DiskTier::open("/disk", std::make_unique<MemoryDirectory>(disk), 4);
  ASSERT_FALSE(tier.ok());
  EXPECT_EQ(tier.error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace aqua::keeper::test
