// SPDX-License-Identifier: Apache-2.0
// What is gathered, committed, read and given back, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "tests/handoff/segments/segments_fixture.hpp"
#include "tests/keeper/kept_descriptors.hpp"

namespace aqua {
namespace {

using test::StampedCache;

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

TEST_F(SegmentsTest, WhoeverGoesWaitsForItsCopies) {
  StampedCache slow(Runtime::open({.device = "emu:0",
                                   .coordinator = "none",
                                   .host_bytes = std::size_t{2} << 20,
                                   .emulated = {.total_bytes = std::size_t{32} << 20,
                                                .link_bytes_per_second = 10'000'000}})
                        .value());
  Segments writer = open(theirs_);
  const auto blocks = StampedCache::blocks(30), others = StampedCache::blocks(30, 30);
  const SegmentName name = write(writer, theirs_, blocks, 7);
  std::optional<Segments> segments = open(slow);
  ASSERT_FALSE(opened(*segments, name).error);
  const Segment segment = take(*segments, slow.layout().packed_bytes(blocks.size()));
  const auto gathered =
      segments->gather(segment.number, 0, slow.layout(), blocks, slow.stream()).value();
  const auto scattered =
      segments->scatter(name.number, 0, slow.layout(), others, slow.stream()).value();
  segments.reset();  // which unmaps both segments
  EXPECT_TRUE(gathered.done().value());
  EXPECT_TRUE(scattered.done().value());
  EXPECT_TRUE(slow.stamped(others, 7));
}

// Copies out of and into two segments, which wait behind a gate.
class CopiesUnderWay : public SegmentsTest {
 protected:
  CopiesUnderWay() {
    const auto blocks = StampedCache::blocks(4);
    read_ = write(writer_, theirs_, blocks, 7);
    EXPECT_FALSE(opened(segments_, read_).error);
    taken_ = take(segments_, ours_.layout().packed_bytes(blocks.size())).number;
    ours_.launch([open = gate_.get_future().share()] { open.wait(); });
    EXPECT_TRUE(segments_.gather(taken_, 0, ours_.layout(), blocks, ours_.stream()).ok());
    EXPECT_TRUE(segments_.scatter(read_.number, 0, ours_.layout(), into_, ours_.stream()).ok());
  }
  void expect_both_there() {
    EXPECT_EQ(segments_.status().taken, 1U);
    EXPECT_EQ(segments_.status().reading, 1U);
  }
  void expect_both_go_with_their_copies() {
    gate_.set_value();
    for (auto now = segments_.status(); now.taken + now.reading != 0; now = segments_.status())
      ASSERT_TRUE(segments_.wait(std::chrono::seconds(30)));
    EXPECT_TRUE(ours_.stamped(into_, 7));
  }
  [[nodiscard]] device::Device& device() {
    return detail::Internals::impl(ours_.runtime()).device();
  }

  Segments writer_ = open(theirs_), segments_ = open(ours_, true, 0);
  const std::vector<std::uint32_t> into_ = StampedCache::blocks(4, 30);
  SegmentName read_;
  std::uint64_t taken_ = 0;
  std::promise<void> gate_;
};

// As while a graph is captured, of some devices.
TEST_F(CopiesUnderWay, NothingIsUnmappedWhileTheDeviceCannotTellWhetherTheyHaveEnded) {
  device::pretend_silence(device(), true);
  ASSERT_TRUE(segments_.release(taken_, ours_.stream()).ok());
  ASSERT_TRUE(segments_.close(read_.number, ours_.stream(), SegmentAfter::keep).ok());
  while (segments_.wait(std::chrono::milliseconds(50))) continue;
  expect_both_there();
  device::pretend_silence(device(), false);
  expect_both_go_with_their_copies();
}

// CUDA's legacy stream is no good while another one is captured, and a stream may be gone.
TEST_F(CopiesUnderWay, AreAllThatIsWaitedForWhereNoStreamIsNamed) {
  device::pretend_capture(device(), Stream{});
  ASSERT_TRUE(segments_.release(taken_).ok());
  ASSERT_TRUE(segments_.close(read_.number, SegmentAfter::keep).ok());
  EXPECT_EQ(segments_.release(taken_).error().code, Code::not_found);
  EXPECT_EQ(segments_.close(read_.number, SegmentAfter::keep).error().code, Code::not_found);
  expect_both_there();
  expect_both_go_with_their_copies();
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

// The engine's own kernels may write a segment, and their failure may come to another mark first.
TEST_F(SegmentsTest, WhatWasWrittenByWorkThatFailedIsNotCommittedWhoeverSawThatFirst) {
  Segments writer = open(ours_, true, 2);
  const Segment other = take(writer, 1), segment = take(writer, 1);
  device::poison_range(detail::Internals::impl(ours_.runtime()).device(),
                       ours_.layout().spec().planes[1] + 21 * StampedCache::kPlaneBlockBytes, 1);
  auto tensor = ours_.runtime().allocate({.bytes = ours_.layout().packed_bytes(4)});
  ASSERT_TRUE(tensor.ok());
  ASSERT_TRUE(ours_.runtime()
                  .offload(ours_.layout(), StampedCache::blocks(4, 20), *tensor, ours_.stream())
                  .ok());
  ASSERT_TRUE(writer.release(other.number, ours_.stream()).ok());
  while (writer.status().ready == 0) ASSERT_TRUE(writer.wait(std::chrono::seconds(30)));
  ASSERT_TRUE(writer.commit(segment.number, 1, ours_.stream()).ok());
  const CommittedSegment outcome = committed(writer);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, Code::data_loss) << outcome.error->message;
  // Who has been told of it may go on: nothing has failed since.
  ASSERT_TRUE(writer.commit(segment.number, 1, ours_.stream()).ok());
  EXPECT_FALSE(committed(writer).error);
}

TEST_F(SegmentsTest, WhatCouldNotBeScatteredIsNotDropped) {
  Segments writer = open(ours_), reader = open(theirs_);
  const auto blocks = StampedCache::blocks(4), dead = StampedCache::blocks(4, 20);
  const SegmentName name = write(writer, ours_, blocks, 7);
  ASSERT_FALSE(opened(reader, name).error);
  device::poison_range(detail::Internals::impl(theirs_.runtime()).device(),
                       theirs_.layout().spec().planes[1] + 21 * StampedCache::kPlaneBlockBytes, 1);
  auto scattered = reader.scatter(name.number, 0, theirs_.layout(), dead, theirs_.stream());
  ASSERT_TRUE(scattered.ok());
  EXPECT_EQ(scattered->wait().error().code, Code::data_loss);
  ASSERT_TRUE(reader.close(name.number, theirs_.stream(), SegmentAfter::drop).ok());
  while (reader.status().reading != 0) std::this_thread::yield();
  EXPECT_NE(reader.status().error.find("is kept"), std::string::npos) << reader.status().error;
  // The bytes are there for another try.
  ASSERT_FALSE(opened(reader, name).error);
  ASSERT_TRUE(reader.scatter(name.number, 0, theirs_.layout(), blocks, theirs_.stream()).ok());
  EXPECT_TRUE(theirs_.stamped(blocks, 7));
  ASSERT_TRUE(reader.close(name.number, theirs_.stream(), SegmentAfter::drop).ok());
  while (!kept().empty()) std::this_thread::yield();
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
    const Segment segment = take(writer, kSegmentBytes);
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
  const auto refused = writer.take(3 * kSegmentBytes);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  const Segment large = take(writer, 3 * kSegmentBytes);
  EXPECT_GE(large.bytes, 3 * kSegmentBytes);
}

TEST_F(SegmentsTest, WhereNoneIsKeptReadyEachIsThereOnceItWasAskedFor) {
  Segments writer = open(ours_, true, 0);
  EXPECT_FALSE(writer.take(kSegmentBytes).ok());
  ASSERT_TRUE(writer.wait(std::chrono::seconds(30)));
  // Until it was taken it is given back to nobody.
  EXPECT_FALSE(writer.wait(std::chrono::milliseconds(50)));
  EXPECT_EQ(writer.status().ready, 1U);
  EXPECT_TRUE(writer.take(kSegmentBytes).ok());
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
