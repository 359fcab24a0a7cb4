// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/disk/blob_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "tests/tools/keeper/memory_directory.hpp"

namespace aqua::keeper::test {
namespace {

Bytes filled(std::size_t bytes, int with) {
  return Bytes(bytes, static_cast<std::byte>(with));
}

Result<BlobLog> open(MemoryDisk& disk, const BlobLogOptions& options = kSmall) {
  return BlobLog::open(std::make_unique<MemoryDirectory>(disk), options);
}

TEST(BlobLog, GivesBackWhatWasPutAlsoWhenOpenedAgain) {
  MemoryDisk disk;
  {
    auto log = open(disk);
    ASSERT_TRUE(log->put("a", filled(100, 1)).ok());
    ASSERT_TRUE(log->put("b", filled(0, 2)).ok());
    ASSERT_TRUE(log->put("a", filled(77, 3)).ok());
    EXPECT_EQ(*log->read("a"), filled(77, 3));
  }
  auto log = open(disk);
  EXPECT_EQ(log->names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(*log->read("a"), filled(77, 3));
  EXPECT_EQ(*log->read("b"), Bytes());
  EXPECT_EQ(log->bytes_of("a"), 77U);
  EXPECT_EQ(log->bytes_of("c"), std::nullopt);
  EXPECT_EQ(log->read("c").error().code, Code::not_found);
}

TEST(BlobLog, RefusesNamesAndOptionsThatCannotBeAndChangesNothing) {
  MemoryDisk disk;
  EXPECT_EQ(open(disk, {.most_bytes = 1000, .file_bytes = 501}).error().code,
            Code::invalid_argument);
  EXPECT_EQ(open(disk, {.most_bytes = 1000, .file_bytes = 0}).error().code, Code::invalid_argument);
  auto log = open(disk);
  EXPECT_EQ(log->put("", filled(1, 1)).error().code, Code::invalid_argument);
  EXPECT_EQ(log->put(std::string(1025, 'n'), filled(1, 1)).error().code, Code::invalid_argument);
  EXPECT_EQ(log->put("large", (std::uint64_t{1} << 40) + 1, nullptr).error().code,
            Code::invalid_argument);
  EXPECT_EQ(log->erase("a").error().code, Code::not_found);
  EXPECT_EQ(log->names(), std::vector<std::string>{});
  EXPECT_TRUE(log->put(std::string(1024, 'n'), filled(1, 1)).ok());
}

TEST(BlobLog, AlwaysHasRoomForWhatIsBelowItsLimitHoweverOftenItIsReplaced) {
  MemoryDisk disk;
  auto log = open(disk);
  for (int round = 0; round < 400; ++round) {
    ASSERT_TRUE(log->put(std::string("blob ") + static_cast<char>('a' + round % 4),
                         filled(500 + static_cast<std::size_t>(round) % 90, round))
                    .ok())
        << round;
    EXPECT_LE(log->file_bytes(), kSmall.most_bytes) << round;
  }
  EXPECT_EQ(log->names().size(), 4U);
  const auto refused = log->put("one more", filled(1200, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  ASSERT_TRUE(log->erase("blob a").ok());
  ASSERT_TRUE(log->erase("blob b").ok());
  EXPECT_TRUE(log->put("one more", filled(1200, 1)).ok());
}

TEST(BlobLog, CleaningForgetsNoEraseBeforeWhatItErased) {
  MemoryDisk disk;
  auto log = open(disk);
  ASSERT_TRUE(log->put("kept", filled(200, 1)).ok());
  ASSERT_TRUE(log->put("erased", filled(400, 2)).ok());  // fills the first file
  ASSERT_TRUE(log->erase("erased").ok());                // lies in the second one
  while (true) {
    const auto cleaned = log->clean();
    ASSERT_TRUE(cleaned.ok());
    if (!*cleaned) break;
  }
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(log->put("other", filled(500, i)).ok());
  EXPECT_EQ(open(disk)->names(), (std::vector<std::string>{"kept", "other"}));
}

TEST(BlobLog, AFailingSourceLeavesWhatWasThere) {
  MemoryDisk disk;
  auto log = open(disk);
  ASSERT_TRUE(log->put("a", filled(100, 1)).ok());
  const auto failed = log->put("a", 50, [](std::uint64_t, std::span<std::byte>) {
    return Result<void>(Error{Code::cancelled, "enough"});
  });
  EXPECT_EQ(failed.error().code, Code::cancelled);
  EXPECT_EQ(*log->read("a"), filled(100, 1));
  EXPECT_EQ(*open(disk)->read("a"), filled(100, 1));
}

TEST(BlobLog, OfAPutThatFailedHalfWayNothingStaysBehindTheNextRecord) {
  constexpr BlobLogOptions kLarge{.most_bytes = 8 << 20, .file_bytes = 1 << 16};
  MemoryDisk disk;
  {
    auto log = open(disk, kLarge);
    const auto failed = log->put("a", 3 << 20, [](std::uint64_t offset, std::span<std::byte>) {
      return offset == 0 ? Result<void>() : Result<void>(Error{Code::cancelled, "enough"});
    });
    EXPECT_EQ(failed.error().code, Code::cancelled);
    // The file is closed behind this one, and has to end there.
    ASSERT_TRUE(log->put("b", filled(1 << 16, 1)).ok());
    ASSERT_TRUE(log->put("c", filled(1, 2)).ok());
  }
  auto log = open(disk, kLarge);
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->names(), (std::vector<std::string>{"b", "c"}));
}

TEST(BlobLog, ADiskThatIsFullWhereAFileBeginsIsWrittenOnceThereIsRoomAgain) {
  MemoryDisk disk;
  auto log = open(disk);
  ASSERT_TRUE(log->put("a", filled(600, 1)).ok());  // fills the first file
  disk.full_at = 1;
  EXPECT_EQ(log->put("b", filled(10, 2)).error().code, Code::resource_exhausted);
  EXPECT_EQ(log->erase("a").error().code, Code::resource_exhausted);
  EXPECT_EQ(disk.files.size(), 1U) << "nothing stays of it";
  EXPECT_TRUE(log->writable());
  disk.full_at = 0;
  ASSERT_TRUE(log->put("b", filled(10, 2)).ok());
  ASSERT_TRUE(log->sync().ok());
  auto again = open(disk);
  EXPECT_EQ(*again->read("a"), filled(600, 1));
  EXPECT_EQ(*again->read("b"), filled(10, 2));
}

TEST(BlobLog, OfWhatWasErasedTheDiskHasTheRoomBackOnceThatIsSynced) {
  constexpr BlobLogOptions kOneFile{.most_bytes = 1 << 20, .file_bytes = 1 << 16};
  MemoryDisk disk;
  {
    auto log = open(disk, kOneFile);
    ASSERT_TRUE(log->put("a", filled(1000, 1)).ok());
    ASSERT_TRUE(log->put("b", filled(1000, 2)).ok());
    ASSERT_TRUE(log->sync().ok());
    ASSERT_TRUE(log->erase("a").ok());
    EXPECT_GT(disk.used(), 2000U) << "a power cut may take the erase back";
    ASSERT_TRUE(log->sync().ok());
    EXPECT_LT(disk.used(), 1500U);
    ASSERT_TRUE(log->put("b", filled(1000, 3)).ok());
    ASSERT_TRUE(log->sync().ok());
    EXPECT_LT(disk.used(), 1700U) << "of what was replaced, too";
  }
  auto log = open(disk, kOneFile);
  ASSERT_TRUE(log.ok()) << log.error().message;
  EXPECT_EQ(log->names(), std::vector<std::string>{"b"});
  EXPECT_EQ(*log->read("b"), filled(1000, 3));
}

// An open looks at the bodies of what was not synced before it was erased.
TEST(BlobLog, OfWhatWasErasedBeforeItWasSyncedTheRoomComesBackLater) {
  constexpr BlobLogOptions kOneFile{.most_bytes = 1 << 20, .file_bytes = 1 << 16};
  MemoryDisk disk;
  {
    auto log = open(disk, kOneFile);
    ASSERT_TRUE(log->put("gone", filled(1000, 1)).ok());
    ASSERT_TRUE(log->erase("gone").ok());
    ASSERT_TRUE(log->put("kept", filled(10, 2)).ok());
    ASSERT_TRUE(log->sync().ok());
    EXPECT_GT(disk.used(), 1000U);
  }
  EXPECT_EQ(open(disk, kOneFile)->names(), std::vector<std::string>{"kept"});
  auto log = open(disk, kOneFile);
  ASSERT_TRUE(log->put("more", filled(10, 3)).ok());
  EXPECT_GT(disk.used(), 1000U);
  ASSERT_TRUE(log->sync().ok());
  EXPECT_LT(disk.used(), 1000U);
  EXPECT_EQ(open(disk, kOneFile)->names(), (std::vector<std::string>{"kept", "more"}));
}

TEST(BlobLog, AShortLastFileIsRemovedIfItIsWhatAPowerCutLeavesOfALogAlone) {
  const auto bytes_of = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return Bytes(bytes.begin(), bytes.end());
  };
  for (const std::string& left : {std::string(), std::string("AQUA"), std::string(24, '\0'),
                                  std::string("\0\0UABLOG\1", 9)}) {
    MemoryDisk disk;
    disk.files[1].durable = bytes_of(left);
    const auto log = open(disk);
    ASSERT_TRUE(log.ok()) << left;
    EXPECT_EQ(log->cut_bytes(), left.size());
  }
  for (const std::string& note : {std::string("x"), std::string("AQUARIUM"), std::string(24, 'x'),
                                  std::string("AQUABLOG\2")}) {
    MemoryDisk disk;
    disk.files[1].durable = bytes_of(note);
    EXPECT_EQ(open(disk).error().code, Code::invalid_argument) << note;
    EXPECT_EQ(disk.now(1), bytes_of(note));
  }
}

TEST(BlobLog, NeverGivesBytesThatHaveChangedOnTheDisk) {
  std::mt19937_64 random(7);
  int lost = 0, refused = 0;
  for (int round = 0; round < 2000; ++round) {
    MemoryDisk disk;
    std::map<std::string, Bytes> put;
    {
      auto log = open(disk);
      for (int i = 0; i < 6; ++i) {
        const std::string name(1, static_cast<char>('a' + i));
        put[name] = filled(150 + random() % 100, i);
        ASSERT_TRUE(log->put(name, put[name]).ok());
        ASSERT_TRUE(log->sync().ok());
      }
    }
    auto file = disk.files.begin();
    std::advance(file, static_cast<std::ptrdiff_t>(random() % disk.files.size()));
    Bytes& bytes = file->second.durable;
    bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << random() % 8);
    auto log = open(disk);
    if (!log.ok()) {
      ++refused;
      continue;
    }
    for (const std::string& name : log->names()) {
      const auto read = log->read(name);
      if (read.ok()) {
        ASSERT_EQ(*read, put.at(name));
      } else {
        EXPECT_EQ(read.error().code, Code::data_loss);
        ++lost;
      }
    }
  }
  EXPECT_GT(lost, 100);
  EXPECT_GT(refused, 100);
}

TEST(BlobLog, SaysThatARecordThatHadBeenSyncedHasDecayed) {
  MemoryDisk disk;
  {
    auto log = open(disk, {.most_bytes = 1 << 20, .file_bytes = 1 << 16});
    ASSERT_TRUE(log->put("a", filled(100, 1)).ok());
    ASSERT_TRUE(log->sync().ok());
    ASSERT_TRUE(log->put("b", filled(100, 2)).ok());
    ASSERT_TRUE(log->sync().ok());
  }
  disk.files.begin()->second.durable[blob_log::kFileHeadBytes] ^= std::byte{1};
  EXPECT_EQ(open(disk).error().code, Code::data_loss);
}

// The last record said that the hole before it is none of a power cut; it is cut off as it has
// decayed, and nothing says so any more.
TEST(BlobLog, AHoleIsNoTornBodyAlsoWhenTheRecordThatSaidSoIsCutOff) {
  MemoryDisk disk;
  const BlobLogOptions roomy{.most_bytes = 1 << 20, .file_bytes = 1 << 16};
  {
    auto log = open(disk, roomy);
    ASSERT_TRUE(log->put("a", filled(3000, 1)).ok());
    ASSERT_TRUE(log->put("c", filled(100, 2)).ok());
    ASSERT_TRUE(log->erase("a").ok());
    ASSERT_TRUE(log->sync().ok());
    ASSERT_TRUE(log->put("b", filled(100, 3)).ok());
    ASSERT_TRUE(log->sync().ok());
  }
  MemoryDisk::File& file = disk.files.begin()->second;
  ASSERT_GT(file.discarded, 0U);
  file.durable[file.durable.size() - 50] ^= std::byte{1};
  for (const char* const when : {"as b is cut off", "afterwards"}) {
    auto log = open(disk, roomy);
    ASSERT_TRUE(log.ok()) << when << ": " << log.error().message;
    ASSERT_EQ(log->names(), (std::vector<std::string>{"c"})) << when;
    EXPECT_EQ(*log->read("c"), filled(100, 2)) << when;
  }
}

TEST(BlobLog, CleaningDropsABlobThatHasDecayedAndCountsIt) {
  MemoryDisk disk;
  auto log = open(disk);
  ASSERT_TRUE(log->put("a", filled(400, 1)).ok());
  ASSERT_TRUE(log->put("b", filled(100, 2)).ok());
  ASSERT_TRUE(log->sync().ok());
  disk.files.begin()->second.durable[200] ^= std::byte{1};
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(log->put("c", filled(500, i)).ok());
  EXPECT_EQ(log->decayed(), 1U);
  EXPECT_EQ(log->names(), (std::vector<std::string>{"b", "c"}));
}

TEST(BlobLog, BytesThatLookLikeARecordAreNone) {
  // A whole file of another log, as the body of a put that is cut off behind it.
  MemoryDisk other, disk;
  {
    auto log = open(other);
    ASSERT_TRUE(log->put("planted", filled(100, 9)).ok());
  }
  const Bytes planted = other.now(1);
  {
    auto log = open(disk);
    ASSERT_TRUE(log->put("a", planted).ok());
  }
  Bytes& bytes = disk.files.begin()->second.durable;
  bytes = disk.now(1);
  disk.files.begin()->second.pending.clear();
  bytes.erase(bytes.begin() + blob_log::kFileHeadBytes, bytes.end() - 192);
  EXPECT_EQ(open(disk)->names(), std::vector<std::string>());
}

TEST(BlobLog, ReadsNoLogOfAnotherVersionAndLeavesItAsItIs) {
  MemoryDisk disk;
  { ASSERT_TRUE(open(disk)->put("a", filled(100, 1)).ok()); }
  disk.files.begin()->second.durable[8] = std::byte{2};
  const Bytes before = disk.now(1);
  EXPECT_EQ(open(disk).error().code, Code::failed_precondition);
  EXPECT_EQ(disk.now(1), before);
}

}  // namespace
}  // namespace aqua::keeper::test
