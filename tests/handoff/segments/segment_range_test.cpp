// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/handoff/segments.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/keeper/kept_descriptors.hpp"

namespace aqua {
namespace {

using test::StampedCache;

// The cache's blocks, as its device has them.
std::vector<std::byte> bytes_of(StampedCache& cache, const std::vector<std::uint32_t>& blocks) {
  std::vector<std::byte> all;
  cache.launch([&] {
    for (std::byte* const plane : cache.layout().spec().planes) {
      for (const std::uint32_t block : blocks) {
        const std::byte* const from =
            emulated::kernel_view(plane + block * StampedCache::kPlaneBlockBytes);
        all.insert(all.end(), from, from + StampedCache::kPlaneBlockBytes);
      }
    }
  });
  EXPECT_TRUE(emulated::synchronize(cache.runtime(), cache.stream()).ok());
  return all;
}

TEST(SegmentRange, ARangeOfASequenceGoesAloneAndAllElseStays) {
  const test::KeeperProcess keeper;
  StampedCache ours, theirs;
  constexpr std::size_t kTokens = 16, kHeads = 4, kHeadBytes = 64;  // a block of 4 KiB
  const auto with_axes = [&](StampedCache& cache) {
    LayoutSpec spec = cache.layout().spec();
    spec.axes = BlockAxes::tokens_first(kTokens, kHeads, kHeadBytes);
    return Layout::make(std::move(spec)).value();
  };
  const Layout from = with_axes(ours), to = with_axes(theirs);
  const auto source = StampedCache::blocks(2, 7), target = StampedCache::blocks(2, 20, 3);
  const KvRange range{.layers = {1, 1}, .tokens = {5, 20}, .heads = {1, 2}};
  const std::size_t bytes = from.packed_bytes(2, range).value();
  ASSERT_EQ(bytes, 2 * 20 * 2 * kHeadBytes) << "two planes, twenty tokens, two heads";
  ours.stamp(source, 1);
  theirs.stamp(target, 2);
  const auto given = bytes_of(ours, source), before = bytes_of(theirs, target);

  const auto open = [&](StampedCache& cache) {
    return Segments::open(
               cache.runtime(),
               {.segment_bytes = std::size_t{2} << 20, .ready = 1, .keeper = keeper.socket()})
        .value();
  };
  Segments writer = open(ours), reader = open(theirs);
  const Segment segment = writer.take(bytes).value();
  ASSERT_TRUE(writer.gather(segment.number, 0, from, source, range, ours.stream()).ok());
  ASSERT_TRUE(writer.commit(segment.number, bytes, ours.stream()).ok());
  std::vector<CommittedSegment> committed;
  while ((committed = writer.committed()).empty())
    ASSERT_TRUE(writer.wait(std::chrono::seconds(30)));
  const SegmentName name = committed.front().name;
  ASSERT_TRUE(reader.read(name).ok());
  while (reader.opened().empty()) ASSERT_TRUE(reader.wait(std::chrono::seconds(30)));
  const auto scatter = [&](std::size_t offset) {
    return reader.scatter(name.number, offset, to, target, range, theirs.stream());
  };
  EXPECT_EQ(scatter(1).error().code, Code::invalid_argument) << "it ends behind the segment";
  ASSERT_TRUE(scatter(0).ok());

  const auto after = bytes_of(theirs, target);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::size_t layer = i / (4 * StampedCache::kPlaneBlockBytes);  // two planes of two blocks
    const std::size_t token = i / (kHeads * kHeadBytes) % (2 * kTokens);
    const std::size_t head = i / kHeadBytes % kHeads;
    const bool moved = layer == 1 && token >= 5 && token < 25 && head >= 1 && head < 3;
    ASSERT_EQ(after[i], moved ? given[i] : before[i]) << i;
  }
}

}  // namespace
}  // namespace aqua
