// SPDX-License-Identifier: Apache-2.0
// The power is cut at each call that a log makes of its disk. What was synced is there afterwards,
// and the rest is there up to some point.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "tests/tools/keeper/memory_directory.hpp"
#include "tools/keeper/disk/blob_log.hpp"

namespace aqua::keeper::test {
namespace {

using Blobs = std::map<std::string, Bytes>;

Bytes some_bytes(std::mt19937_64& random, std::size_t most) {
  Bytes bytes(random() % most);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Result<BlobLog> open(MemoryDisk& disk, std::uint64_t seed) {
  return BlobLog::open(std::make_unique<MemoryDirectory>(disk, seed), kSmall);
}

Blobs content(BlobLog& log) {
  Blobs all;
  for (const std::string& name : log.names()) {
    auto bytes = log.read(name);
    EXPECT_TRUE(bytes.ok()) << (bytes.ok() ? "" : bytes.error().message);
    if (bytes.ok()) all[name] = *std::move(bytes);
    EXPECT_EQ(log.bytes_of(name), all[name].size());
  }
  return all;
}

// What was put, and which states a power cut may leave: that of the last sync, and each since.
struct Twin {
  Blobs now;
  std::vector<Blobs> may_be{Blobs()};

  void changed() { may_be.push_back(now); }
  void synced() { may_be = {now}; }
};

// One change, in the log and in the twin, drawn at random. False: the power is cut.
bool act(BlobLog& log, Twin& twin, std::mt19937_64& random) {
  const std::string name = std::string("blob ") + static_cast<char>('a' + random() % 5);
  const auto what = random() % 10;
  if (what < 5) {
    const Bytes bytes = some_bytes(random, 300);
    twin.now[name] = bytes;
    twin.changed();  // also if it fails: the record may be there
    return log.put(name, bytes).ok();
  }
  if (what < 7) {
    if (!twin.now.contains(name)) {
      EXPECT_EQ(log.erase(name).error().code, Code::not_found);
      return true;
    }
    twin.now.erase(name);
    twin.changed();
    return log.erase(name).ok();
  }
  if (what < 9) {
    if (!log.sync().ok()) return false;
    twin.synced();
    return true;
  }
  return log.clean().ok();
}

TEST(PowerCut, AtEachCallLeavesWhatWasSyncedAndNothingThatWasNeverPut) {
  constexpr int kActs = 40;
  std::size_t cuts = 0, taken_back = 0, files = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (std::size_t cut_at = 1;; ++cut_at) {
      MemoryDisk disk;
      disk.cut_at = cut_at;
      std::mt19937_64 random(seed);
      Twin twin;
      {
        auto log = open(disk, seed);
        for (int i = 0; log.ok() && i < kActs && act(*log, twin, random); ++i) {
        }
      }
      if (!disk.dark) break;  // it was over before
      ++cuts;
      std::mt19937_64 after(seed * 1000 + cut_at);
      disk.come_back(after);
      files = std::max(files, disk.files.size());
      auto log = open(disk, seed);
      ASSERT_TRUE(log.ok()) << seed << " " << cut_at << ": " << log.error().message;
      const Blobs found = content(*log);
      ASSERT_NE(std::ranges::find(twin.may_be, found), twin.may_be.end()) << seed << " " << cut_at;
      if (found != twin.now) ++taken_back;
      // And it is a log to go on with, and to be opened again.
      Twin next{.now = found, .may_be = {found}};
      for (int i = 0; i < 10; ++i) ASSERT_TRUE(act(*log, next, after)) << seed << " " << cut_at;
      ASSERT_EQ(content(*log), next.now) << seed << " " << cut_at;
      auto again = open(disk, seed);
      ASSERT_TRUE(again.ok()) << again.error().message;
      ASSERT_EQ(content(*again), next.now) << seed << " " << cut_at;
    }
  }
  EXPECT_GT(cuts, 1000U);
  EXPECT_GT(taken_back, 100U) << "power cuts that take nothing back test nothing";
  EXPECT_GT(files, 3U);
}

TEST(PowerCut, TwiceWhileALogIsOpenedLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    MemoryDisk disk;
    std::mt19937_64 random(seed);
    Twin twin;
    {
      auto log = open(disk, seed);
      disk.cut_at = 30 + random() % 60;
      while (act(*log, twin, random)) {
      }
    }
    disk.come_back(random);
    for (std::size_t cut_at = 1; cut_at <= 3; ++cut_at) {
      disk.cut_at = cut_at;
      (void)open(disk, seed).ok();
      disk.come_back(random);
    }
    auto log = open(disk, seed);
    ASSERT_TRUE(log.ok()) << log.error().message;
    EXPECT_NE(std::ranges::find(twin.may_be, content(*log)), twin.may_be.end()) << seed;
  }
}

TEST(PowerCut, TakesNothingOfWhatALogHadWhenItWasOpened) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    MemoryDisk disk;
    std::mt19937_64 random(seed);
    Twin twin;
    {
      auto log = open(disk, seed);
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(act(*log, twin, random));
    }  // killed: the system still has what it wrote
    for (int life = 0; life < 2; ++life) {
      auto log = open(disk, seed);
      ASSERT_TRUE(log.ok()) << log.error().message;
      EXPECT_EQ(content(*log), twin.now) << seed << ", life " << life;
      disk.come_back(random);
    }
  }
}

TEST(FullDisk, FailsThePutAndChangesNothing) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    MemoryDisk disk;
    std::mt19937_64 random(seed);
    Twin twin;
    auto log = open(disk, seed);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(act(*log, twin, random));
    disk.full_at = disk.calls + 1 + random() % 4;
    auto refused = Result<void>();
    while (refused.ok()) {
      const Bytes bytes = some_bytes(random, 300);
      refused = log->put("more", bytes);
      if (refused.ok()) twin.now["more"] = bytes;
    }
    EXPECT_EQ(refused.error().code, Code::resource_exhausted);
    EXPECT_EQ(content(*log), twin.now) << seed;
    disk.full_at = 0;
    if (!log->sync().ok()) continue;  // the file that could not be begun: said, and for good
    EXPECT_TRUE(log->put("more", some_bytes(random, 300)).ok()) << seed;
  }
}

}  // namespace
}  // namespace aqua::keeper::test
