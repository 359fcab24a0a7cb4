// SPDX-License-Identifier: Apache-2.0
// A keeper, and a writer's and a reader's cache over which segments go from one to the other.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua {

inline constexpr std::size_t kSegmentBytes = std::size_t{2} << 20;

// A writer and a reader, each with a cache of its own.
class SegmentsTest : public ::testing::Test {
 protected:
  [[nodiscard]] Segments open(test::StampedCache& cache, bool digest = true,
                              std::uint32_t ready = 1) const {
    return Segments::open(cache.runtime(), {.segment_bytes = kSegmentBytes,
                                            .ready = ready,
                                            .digest = digest,
                                            .keeper = keeper_.socket()})
        .value();
  }
  // Takes the next segment that is there; 0 bytes: the keeper is away.
  static Segment take(Segments& segments, std::size_t bytes) {
    for (;;) {
      const auto taken = segments.take(bytes);
      if (taken.ok()) return *taken;
      EXPECT_EQ(taken.error().code, Code::resource_exhausted) << taken.error().message;
      if (!segments.wait(std::chrono::seconds(30))) return {};
    }
  }
  static CommittedSegment committed(Segments& segments) {
    for (;;) {
      const auto all = segments.committed();
      if (!all.empty()) return all.front();
      if (!segments.wait(std::chrono::seconds(30))) return {};
    }
  }
  static OpenedSegment opened(Segments& segments, const SegmentName& name) {
    const auto asked = segments.read(name);
    EXPECT_TRUE(asked.ok()) << asked.error().message;
    for (;;) {
      const auto all = segments.opened();
      if (!all.empty()) return all.front();
      if (!segments.wait(std::chrono::seconds(30))) return {};
    }
  }
  // Stamps blocks, gathers and commits them, and answers the name.
  static SegmentName write(Segments& segments, test::StampedCache& cache,
                           const std::vector<std::uint32_t>& blocks, std::uint64_t stamp) {
    const std::size_t bytes = cache.layout().packed_bytes(blocks.size());
    const Segment segment = take(segments, bytes);
    cache.stamp(blocks, stamp);
    EXPECT_TRUE(segments.gather(segment.number, 0, cache.layout(), blocks, cache.stream()).ok());
    EXPECT_TRUE(segments.commit(segment.number, bytes, cache.stream()).ok());
    const CommittedSegment outcome = committed(segments);
    EXPECT_FALSE(outcome.error) << outcome.error->message;
    return outcome.name;
  }
  [[nodiscard]] std::vector<SegmentStatus> kept() const {
    return list_segments(keeper_.socket()).value();
  }

  mutable test::KeeperProcess keeper_;
  test::StampedCache ours_, theirs_;
};

}  // namespace aqua
