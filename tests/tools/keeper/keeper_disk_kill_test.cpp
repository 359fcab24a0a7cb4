// SPDX-License-Identifier: Apache-2.0
// Real keepers with a disk, which are killed in the middle of whatever they write (their disks
// stand still there) or at once: the next one offers what was said to be durable, byte by byte.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "tests/tools/keeper/keeper_disk_fixture.hpp"

namespace aqua::keeper::test {
namespace {

namespace wire = segment_wire;

int kill_rounds() {
  const char* const wanted = std::getenv("AQUA_DISK_ROUNDS");
  return wanted != nullptr ? std::atoi(wanted) : 120;
}

TEST_F(KeeperDisk, KilledAtRandomMomentsLosesNothingThatWasDurable) {
  std::random_device draw;
  const std::uint64_t seed = draw();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  struct Known {
    SegmentName name;
    std::optional<SegmentOrigin> copy_of{};  // some are copies
    std::uint64_t stamp = 0;
    bool durable = false;
    bool dropped = false;
  };
  std::map<std::uint64_t, Known> known;  // by number
  std::uint64_t stamps = 0;
  int found = 0, stood = 0;
  const auto stands = [&] { return std::filesystem::exists(disk() + ".stands"); };
  const auto look = [&](Client& one) {
    for (const SegmentStatus& row : one.rows()) {
      if (row.on_disk) known.at(row.name.number).durable = true;
    }
  };
  for (int round = 0; round < kill_rounds(); ++round) {
    std::filesystem::remove(disk() + ".stands");
    // From the sixth call on: with five at most a log is opened.
    start_program(
        {AQUA_STANDING_KEEPER, keeper_.socket(), disk(), std::to_string(6 + random() % 30)});
    {
      Client one = client();
      std::map<std::uint64_t, SegmentStatus> rows;
      for (const SegmentStatus& row : one.rows()) rows[row.name.number] = row;
      for (const auto& [number, row] : rows) {
        ASSERT_TRUE(known.contains(number)) << number;
        ASSERT_TRUE(row.on_disk);
        ASSERT_EQ(row.copy_of, known.at(number).copy_of);
        ASSERT_TRUE(one.has(known.at(number).name, known.at(number).stamp)) << "round " << round;
        ++found;
      }
      for (const auto& [number, was] : known) {
        ASSERT_TRUE(rows.contains(number) || !was.durable || was.dropped) << "round " << round;
      }
      ASSERT_EQ(one.disk().left, SegmentSum{});
      std::erase_if(known, [&](const auto& one_of) { return !rows.contains(one_of.first); });
      for (auto& [number, was] : known) was.dropped = false;

      // So that about as much is dropped as is committed; the last of it is being written.
      for (std::uint64_t i = 1 + random() % 8; i > 0; --i) {
        if (known.size() > 6 || (!known.empty() && random() % 3 == 0)) {
          auto at = std::next(known.begin(), static_cast<std::ptrdiff_t>(random() % known.size()));
          if (!at->second.dropped) {
            one.say(wire::Drop{at->second.name.number, at->second.name.generation});
          }
          at->second.dropped = true;
          continue;
        }
        const std::uint64_t bytes = i == 1              ? random() % (12 << 20)
                                    : random() % 4 == 0 ? random() % (4 << 20)
                                                        : random() % 60000;
        const std::uint64_t stamp = ++stamps;
        std::optional<SegmentOrigin> copy_of;
        if (random() % 3 == 0) copy_of = SegmentOrigin{"a.test", seed % 1000, stamp, 1};
        const SegmentName name = one.commit(stamp, bytes, random() % 2 == 0, copy_of);
        ASSERT_NE(name.number, 0U);
        known[name.number] = {.name = name, .copy_of = copy_of, .stamp = stamp};
        if (random() % 3 == 0) look(one);
      }
      // Up to anywhere in what it writes.
      if (random() % 4 == 0) look(one);
      const bool at_once = random() % 4 == 0;
      while (!at_once && !stands() && one.disk().pending.segments != 0) continue;
      stood += stands() ? 1 : 0;
    }
    keeper_.kill();
  }
  const int torn = times_said("of what was being written are cut off");
  RecordProperty("found", found);
  RecordProperty("stood", stood);
  RecordProperty("torn", torn);
  std::printf("%d rounds: %d segments found again, %d kills within a call, %d torn records\n",
              kill_rounds(), found, stood, torn);
  EXPECT_GT(found, kill_rounds());
  EXPECT_GT(stood, kill_rounds() / 6);
  EXPECT_GT(torn, kill_rounds() / 20);
}

}  // namespace
}  // namespace aqua::keeper::test
