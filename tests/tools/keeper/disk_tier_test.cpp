// SPDX-License-Identifier: Apache-2.0
// A disk tier over a disk in memory: what it writes is offered again with the same bytes, what is
// dropped is not. disk_tier_faults_test.cpp has what disks do.
#include "tools/keeper/disk/disk_tier.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tests/tools/keeper/tier_in_memory.hpp"
#include "tools/keeper/disk/segment_key.hpp"

namespace aqua::keeper::test {
namespace {

TEST(SegmentKey, SaysANameAndIsReadAsThatAlone) {
  const SegmentName name{.number = 12, .generation = 3, .bytes = 5, .digest = {0, 1, 0xab}};
  EXPECT_EQ(key_of(name), "segment 12 3 0001ab00000000000000000000000000");
  EXPECT_EQ(segment_of(key_of(name), 5), LoggedSegment{name});
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

TEST(SegmentKey, SaysOfACopyWhatItIsACopyOf) {
  const LoggedSegment copy{
      .name = {.number = 12, .generation = 3, .bytes = 5, .digest = {1}},
      .copy_of = SegmentOrigin{.server = "a copy", .keeper = 7, .number = 0, .generation = 9}};
  const std::string key = key_of(copy.name, copy.copy_of);
  EXPECT_EQ(key, "segment 12 3 01" + std::string(30, '0') + " copy 7 0 9 a copy");
  EXPECT_EQ(segment_of(key, 5), copy);
  const std::string name = key_of(copy.name);
  for (const std::string rest :
       {" copy", " copy ", " copy 7 8 9", " copy 7 8 9 ", " copy 7 8 09 a", " copy 7 8 a",
        " copy 1000000000000001 8 9 a", " copy 7 8 9 a\n", " COPY 7 8 9 a", "copy 7 8 9 a"}) {
    EXPECT_FALSE(segment_of(name + rest, 5)) << rest;
  }
}

TEST(DiskTier, ACopyIsOfferedAsOneAndErasedAsOne) {
  MemoryDisk disk;
  Segment copy = make_segment(1, 1, 3000), dropped = make_segment(2, 1, 3000);
  copy.copy_of = SegmentOrigin{"a.test", 7, 8, 9};
  dropped.copy_of = SegmentOrigin{"a.test", 7, 10, 11};
  {
    const auto tier = open_tier(disk);
    tier->start();
    for (const Segment& one : {copy, dropped}) {
      tier->committed(one.name, one.memory, one.copy_of);
    }
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    EXPECT_TRUE(tier->dropped(2, 1));
    ASSERT_TRUE(tier->wait_until_written(kPatience));
    EXPECT_EQ(tier->status().durable, (SegmentSum{1, 3000}));
  }
  const Offered offered = offered_by(disk);
  EXPECT_EQ(offered.size(), 1U);
  EXPECT_TRUE(offered.has(copy));
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

TEST(DiskTier, OfTwoGenerationsTheLaterOneIsOfferedAndTheOtherErased) {
  MemoryDisk disk;
  const Segment dropped = make_segment(1, 9, 300), kept = make_segment(1, 10, 200);
  {
    auto log = BlobLog::open(std::make_unique<MemoryDirectory>(disk),
                             {.most_bytes = kQuota, .file_bytes = kQuota / 8});
    for (const Segment& one : {dropped, kept})
      ASSERT_TRUE(log->put(key_of(one.name), one.bytes).ok());
    ASSERT_TRUE(log->sync().ok());
  }
  {
    const auto tier = open_tier(disk);
    const Offered offered = offered_by(*tier);
    EXPECT_EQ(offered.size(), 1U);
    EXPECT_TRUE(offered.has(kept));
    tier->start();
    ASSERT_TRUE(tier->wait_until_written(kPatience));
  }
  const auto log = BlobLog::open(std::make_unique<MemoryDirectory>(disk),
                                 {.most_bytes = kQuota, .file_bytes = kQuota / 8});
  EXPECT_EQ(log->names(), std::vector<std::string>{key_of(kept.name)});
}

TEST(DiskTier, WhatThereIsNoMemoryForStaysOnTheDisk) {
  MemoryDisk disk;
  const Segment one = make_segment(1, 1, 3000), other = make_segment(2, 1, 500);
  {
    const auto tier = open_tier(disk);
    tier->start();
    for (const Segment& each : {one, other}) tier->committed(each.name, each.memory);
    ASSERT_TRUE(tier->wait_until_written(kPatience));
  }
  {
    const auto tier = open_tier(disk);
    tier->offer_all([](const LoggedSegment&, const DiskTier::Fill&) -> Result<DiskTier::Memory> {
      return Error{Code::resource_exhausted, "no memory"};
    });
    EXPECT_EQ(tier->status().left, (SegmentSum{2, 3500}));
    EXPECT_FALSE(tier->durable(1, 1)) << "nobody can read it now";
    EXPECT_EQ(tier->status().error,
              "segments that stay on the disk alone: 2, of 3500 bytes in all: no memory");
  }
  EXPECT_TRUE(offered_by(disk).has(one));
}

TEST(DiskTier, ALogOfSomethingElseIsLeftAlone) {
  MemoryDisk disk;
  {
    auto log = BlobLog::open(std::make_unique<MemoryDirectory>(disk),
                             {.most_bytes = kQuota, .file_bytes = kQuota / 8});
    ASSERT_TRUE(log->put("sequence 7", Bytes(10)).ok());
    ASSERT_TRUE(log->sync().ok());
  }
  Bytes& file = disk.files.begin()->second.durable;
  file.resize(file.size() + 20, std::byte{7});  // as a put that was cut off leaves it
  const Bytes before = file;
  const auto tier = DiskTier::open("/disk", std::make_unique<MemoryDirectory>(disk), kQuota);
  EXPECT_EQ(disk.now(1), before);
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
