// SPDX-License-Identifier: Apache-2.0
#include "aqua/handoff/segments.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "tests/handoff/stamped_cache.hpp"
#include "tests/keeper/kept_descriptors.hpp"

namespace aqua {
namespace {

using test::StampedCache;
constexpr std::size_t kSegment = std::size_t{2} << 20;

// A writer and a reader, each with a cache of its own.
class SegmentsTest : public ::testing::Test {
 protected:
  [[nodiscard]] Segments open(StampedCache& cache, bool digest = true,
                              std::uint32_t ready = 1) const {
    return Segments::open(cache.runtime(), {.segment_bytes = kSegment,
                                            .ready = ready,
                                            .digest = digest,
                                            .keeper = keeper_.socket()})
        .value();
  }
  // Of the next segment that is there; 0 bytes: the keeper is away.
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
  static SegmentName write(Segments& segments, StampedCache& cache,
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
  StampedCache ours_, theirs_;
};

TEST_F(SegmentsTest, WhatIsCommittedIsReadByteForByteByAnother) {
  Segments writer = open(ours_);
  Segments reader = open(theirs_);
  const auto from = StampedCache::blocks(7, 60, 3);
  const auto into = StampedCache::blocks(7, 1, 5);
  const SegmentName name = write(writer, ours_, from, 42);
  EXPECT_EQ(name.bytes, ours_.layout().packed_bytes(7));
  const OpenedSegment there = opened(reader, name);
  ASSERT_FALSE(there.error) << there.error->message;
  EXPECT_TRUE(*reader.verify(name.number));
  ASSERT_TRUE(reader.scatter(name.number, 0, theirs_.layout(), into, theirs_.stream()).ok());
  EXPECT_TRUE(theirs_.stamped(into, 42));
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0].readers, 1U);
  ASSERT_TRUE(reader.close(name.number, theirs_.stream(), SegmentAfter::drop).ok());
  while (!kept().empty()) ASSERT_TRUE(writer.wait(std::chrono::seconds(30)));
}

TEST_F(SegmentsTest, PartsOfASegmentAreGatheredAndScatteredOnTheirOwn) {
  Segments writer = open(ours_);
  Segments reader = open(theirs_);
  const auto first = StampedCache::blocks(3), second = StampedCache::blocks(4, 10);
  const std::size_t half = ours_.layout().packed_bytes(3);
  const std::size_t all = half + ours_.layout().packed_bytes(4);
  const Segment segment = take(writer, all);
  ours_.stamp(first, 1);
  ours_.stamp(second, 2);
  ASSERT_TRUE(writer.gather(segment.number, half, ours_.layout(), second, ours_.stream()).ok());
  ASSERT_TRUE(writer.gather(segment.number, 0, ours_.layout(), first, ours_.stream()).ok());
  ASSERT_TRUE(writer.commit(segment.number, all, ours_.stream()).ok());
  const SegmentName name = committed(writer).name;
  ASSERT_FALSE(opened(reader, name).error);
  ASSERT_TRUE(reader.scatter(name.number, half, theirs_.layout(), second, theirs_.stream()).ok());
  EXPECT_TRUE(theirs_.stamped(second, 2));
  ASSERT_TRUE(reader.scatter(name.number, 0, theirs_.layout(), first, theirs_.stream()).ok());
  EXPECT_TRUE(theirs_.stamped(first, 1));
}

TEST_F(SegmentsTest, ACommitWaitsForItsStreamAndNoCallDoes) {
  Segments writer = open(ours_);
  const auto blocks = StampedCache::blocks(4);
  const std::size_t bytes = ours_.layout().packed_bytes(4);
  const Segment segment = take(writer, bytes);
  std::promise<void> gate;
  ours_.launch([open = gate.get_future().share()] { open.wait(); });
  ours_.stamp(blocks, 5);
  ASSERT_TRUE(writer.gather(segment.number, 0, ours_.layout(), blocks, ours_.stream()).ok());
  ASSERT_TRUE(writer.commit(segment.number, bytes, ours_.stream()).ok());
  EXPECT_EQ(writer.commit(segment.number, bytes, ours_.stream()).error().code, Code::not_found)
      << "it is committed already";
  EXPECT_TRUE(kept().empty());
  EXPECT_TRUE(writer.committed().empty());
  gate.set_value();
  const CommittedSegment outcome = committed(writer);
  ASSERT_FALSE(outcome.error);
  Segments reader = open(theirs_);
  ASSERT_FALSE(opened(reader, outcome.name).error);
  EXPECT_TRUE(*reader.verify(outcome.name.number)) << "the digest is of what the kernel wrote";
}

// A failure on a stream is told once: here to who asks for the ticket.
TEST_F(SegmentsTest, WhatCouldNotBeGatheredIsNotCommitted) {
  Segments writer = open(ours_);
  const auto blocks = StampedCache::blocks(4), dead = StampedCache::blocks(4, 20);
  const std::size_t bytes = ours_.layout().packed_bytes(4);
  const std::byte* const plane = ours_.layout().spec().planes[1];
  device::poison_range(detail::Internals::impl(ours_.runtime()).device(),
                       plane + 21 * StampedCache::kPlaneBlockBytes, 1);
  const Segment segment = take(writer, bytes);
  auto gathered = writer.gather(segment.number, 0, ours_.layout(), dead, ours_.stream());
  ASSERT_TRUE(gathered.ok());
  EXPECT_EQ(gathered->wait().error().code, Code::data_loss);
  ASSERT_TRUE(writer.commit(segment.number, bytes, ours_.stream()).ok());
  const CommittedSegment outcome = committed(writer);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, Code::data_loss) << outcome.error->message;
  EXPECT_EQ(outcome.name.number, segment.number);
  EXPECT_TRUE(kept().empty());
  // It is still this process's, to be filled again.
  ASSERT_TRUE(writer.gather(segment.number, 0, ours_.layout(), blocks, ours_.stream()).ok());
  ASSERT_TRUE(writer.commit(segment.number, bytes, ours_.stream()).ok());
  EXPECT_FALSE(committed(writer).error);
}

TEST_F(SegmentsTest, LayersAreGatheredOneByOneBehindTheirKernels) {
  Segments writer = open(ours_);
  Segments reader = open(theirs_);
  const auto blocks = StampedCache::blocks(5, 3, 2);
  const std::size_t bytes = ours_.layout().packed_bytes(5);
  const Segment segment = take(writer, bytes);
  ours_.stamp(blocks, 9);
  for (const unsigned layer : {1U, 0U}) {
    LayoutSpec one = ours_.layout().spec();
    one.planes.assign(ours_.layout().spec().planes.begin() + 2 * layer,
                      ours_.layout().spec().planes.begin() + 2 * layer + 2);
    one.layers = 1;
    ASSERT_TRUE(writer
                    .gather(segment.number, ours_.layout().packed_offset(layer, 0, 0, 5),
                            Layout::make(one).value(), blocks, ours_.stream())
                    .ok());
  }
  ASSERT_TRUE(writer.commit(segment.number, bytes, ours_.stream()).ok());
  const SegmentName name = committed(writer).name;
  ASSERT_FALSE(opened(reader, name).error);
  ASSERT_TRUE(reader.scatter(name.number, 0, theirs_.layout(), blocks, theirs_.stream()).ok());
  EXPECT_TRUE(theirs_.stamped(blocks, 9));
}

TEST_F(SegmentsTest, ASegmentComesBackToItsWriterAndIsMappedOnceOnEachSide) {
  Segments writer = open(ours_);
  Segments reader = open(theirs_, true, 2);
  std::map<std::uint64_t, const std::byte*> written, read;
  std::uint64_t generations = 0;
  for (std::uint64_t turn = 1; turn <= 8; ++turn) {
    const Segment segment = take(writer, kSegment);
    EXPECT_EQ(written.emplace(segment.number, segment.address).first->second, segment.address);
    ASSERT_TRUE(writer.commit(segment.number, 100, ours_.stream()).ok());
    const SegmentName name = committed(writer).name;
    generations = std::max(generations, name.generation);
    const OpenedSegment there = opened(reader, name);
    ASSERT_FALSE(there.error) << there.error->message;
    EXPECT_EQ(read.emplace(name.number, there.segment.address).first->second,
              there.segment.address);
    ASSERT_TRUE(reader.close(name.number, theirs_.stream(), SegmentAfter::drop).ok());
    while (writer.status().kept != 0) ASSERT_TRUE(writer.wait(std::chrono::seconds(30)));
  }
  EXPECT_LE(written.size(), 2U) << "one in use, and one ready";
  EXPECT_GE(generations, 4U);
}

TEST_F(SegmentsTest, ALargerOneIsThereOnceItWasAskedFor) {
  Segments writer = open(ours_);
  const auto refused = writer.take(3 * kSegment);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  const Segment large = take(writer, 3 * kSegment);
  EXPECT_GE(large.bytes, 3 * kSegment);
}

TEST_F(SegmentsTest, RefusalsSayWhyAndChangeNothing) {
  Segments writer = open(ours_);
  const auto blocks = StampedCache::blocks(2);
  const auto code = [](const auto& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? Code::internal : result.error().code;
  };
  EXPECT_EQ(code(Segments::open(ours_.runtime(), {.segment_bytes = 0})), Code::invalid_argument);
  EXPECT_EQ(code(writer.gather(1, 0, ours_.layout(), blocks, ours_.stream())), Code::not_found);
  EXPECT_EQ(code(writer.commit(1, 1, ours_.stream())), Code::not_found);
  EXPECT_EQ(code(writer.release(1, ours_.stream())), Code::not_found);
  const Segment segment = take(writer, kSegment);
  EXPECT_EQ(code(writer.commit(segment.number, kSegment + 1, ours_.stream())),
            Code::invalid_argument);
  EXPECT_EQ(code(writer.gather(segment.number, kSegment, ours_.layout(), blocks, ours_.stream())),
            Code::invalid_argument);
  EXPECT_EQ(code(writer.scatter(segment.number, 0, ours_.layout(), blocks, ours_.stream())),
            Code::not_found);
  EXPECT_EQ(code(writer.close(segment.number, ours_.stream(), SegmentAfter::keep)),
            Code::not_found);
  EXPECT_EQ(code(writer.verify(segment.number)), Code::not_found);
  EXPECT_EQ(writer.status().taken, 1U);
  EXPECT_TRUE(kept().empty());
}

TEST_F(SegmentsTest, NamesThatAreForgedOrOldOpenNothing) {
  Segments writer = open(ours_);
  Segments reader = open(theirs_);
  const SegmentName name = write(writer, ours_, StampedCache::blocks(2), 1);
  const auto code = [&](SegmentName forged) {
    const OpenedSegment outcome = opened(reader, forged);
    return outcome.error ? outcome.error->code : Code::internal;
  };
  SegmentName forged = name;
  forged.number += 1000;
  EXPECT_EQ(code(forged), Code::not_found);
  forged = name;
  ++forged.generation;
  EXPECT_EQ(code(forged), Code::not_found);
  forged = name;
  forged.bytes = ~std::uint64_t{0};
  EXPECT_EQ(code(forged), Code::invalid_argument);
  forged = name;
  forged.digest[0] ^= 1;
  EXPECT_EQ(code(forged), Code::invalid_argument);
  EXPECT_EQ(reader.status().reading, 0U);
  ASSERT_FALSE(opened(reader, name).error) << "the right one is still there";
  EXPECT_EQ(reader.read(name).error().code, Code::already_exists);
  const auto much = StampedCache::blocks(3);
  EXPECT_EQ(reader.scatter(name.number, 0, theirs_.layout(), much, theirs_.stream()).error().code,
            Code::invalid_argument)
      << "more than is committed";
}

TEST_F(SegmentsTest, TheDigestTellsOfAWriterThatWroteOn) {
  Segments writer = open(ours_);
  Segments reader = open(theirs_);
  const Segment segment = take(writer, kSegment);
  segment.address[7] = std::byte{1};
  ASSERT_TRUE(writer.commit(segment.number, 100, ours_.stream()).ok());
  const SegmentName name = committed(writer).name;
  ASSERT_FALSE(opened(reader, name).error);
  EXPECT_TRUE(*reader.verify(name.number));
  segment.address[7] = std::byte{2};  // as it must not
  EXPECT_FALSE(*reader.verify(name.number));
  Segments without = open(ours_, /*digest=*/false);
  const Segment plain = take(without, kSegment);
  ASSERT_TRUE(without.commit(plain.number, 100, ours_.stream()).ok());
  const SegmentName unsaid = committed(without).name;
  ASSERT_FALSE(opened(reader, unsaid).error);
  EXPECT_EQ(reader.verify(unsaid.number).error().code, Code::failed_precondition);
}

TEST_F(SegmentsTest, AReaderCannotWriteWhatItReads) {
  Segments writer = open(ours_);
  Segments reader = open(theirs_);
  const SegmentName name = write(writer, ours_, StampedCache::blocks(2), 1);
  const OpenedSegment there = opened(reader, name);
  ASSERT_FALSE(there.error);
  const int zeroes = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(::read(zeroes, there.segment.address, 8), -1);
  EXPECT_EQ(errno, EFAULT);
  ::close(zeroes);
}

TEST_F(SegmentsTest, WhatIsKeptOutlivesItsSegmentsAndIsDroppedByName) {
  SegmentName name;
  {
    Segments writer = open(ours_);
    name = write(writer, ours_, StampedCache::blocks(2), 1);
  }
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_FALSE(kept()[0].has_writer);
  EXPECT_EQ(drop_segment(name.number, name.generation + 1, keeper_.socket()).error().code,
            Code::not_found);
  ASSERT_TRUE(drop_segment(name.number, name.generation, keeper_.socket()).ok());
  EXPECT_TRUE(kept().empty());
}

TEST_F(SegmentsTest, MoreThanTheQuotaIsRefusedAndSaid) {
  keeper_.stop();
  keeper_.start({AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--segment-bytes",
                 std::to_string(4 * kSegment)});
  const auto much = Segments::open(
      ours_.runtime(), {.segment_bytes = kSegment, .ready = 3, .keeper = keeper_.socket()});
  ASSERT_FALSE(much.ok());
  EXPECT_EQ(much.error().code, Code::resource_exhausted) << "half of it for one process";
  Segments writer = open(ours_);  // what was refused took nothing
  (void)take(writer, kSegment);
  (void)take(writer, kSegment);
  EXPECT_EQ(writer.take(kSegment).error().code, Code::resource_exhausted);
}

TEST_F(SegmentsTest, NothingIsLeftWithTheKeeper) {
  const std::ptrdiff_t before = test::kept_descriptors(keeper_);
  {
    Segments writer = open(ours_, true, 3);
    Segments reader = open(theirs_);
    for (std::uint64_t turn = 1; turn <= 8; ++turn) {
      const SegmentName name = write(writer, ours_, StampedCache::blocks(4), turn);
      if (turn % 2 == 0) {
        ASSERT_TRUE(writer.drop(name).ok());
        continue;
      }
      ASSERT_FALSE(opened(reader, name).error);
      ASSERT_TRUE(reader.close(name.number, theirs_.stream(), SegmentAfter::drop).ok());
    }
  }
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(test::kept_descriptors(keeper_), before);
}

}  // namespace
}  // namespace aqua
