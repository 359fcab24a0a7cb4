// SPDX-License-Identifier: Apache-2.0
// What segments refuse, and what tells of a writer that does not keep to the rules.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/step.hpp"
#include "tests/base/code_of.hpp"
#include "tests/base/few_threads.hpp"
#include "tests/handoff/segments/segments_fixture.hpp"

namespace aqua {
namespace {

using test::StampedCache;
using RefusedSegments = SegmentsTest;

TEST_F(RefusedSegments, RefusalsSayWhyAndChangeNothing) {
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
  const Segment segment = take(writer, kSegmentBytes);
  EXPECT_EQ(code(writer.commit(segment.number, kSegmentBytes + 1, ours_.stream())),
            Code::invalid_argument);
  EXPECT_EQ(
      code(writer.gather(segment.number, kSegmentBytes, ours_.layout(), blocks, ours_.stream())),
      Code::invalid_argument);
  EXPECT_EQ(code(writer.scatter(segment.number, 0, ours_.layout(), blocks, ours_.stream())),
            Code::not_found);
  EXPECT_EQ(code(writer.close(segment.number, ours_.stream(), SegmentAfter::keep)),
            Code::not_found);
  EXPECT_EQ(code(writer.verify(segment.number)), Code::not_found);
  EXPECT_EQ(writer.status().taken, 1U);
  EXPECT_TRUE(kept().empty());
}

TEST_F(RefusedSegments, WithoutAThreadTheyAreNotOpened) {
  {
    const test::FewThreads none(0);
    const auto refused = Segments::open(
        ours_.runtime(), {.segment_bytes = kSegmentBytes, .keeper = keeper_.socket()});
    EXPECT_EQ(code_of(refused), "resource_exhausted");
  }
  Segments writer = open(ours_);
  EXPECT_NE(take(writer, kSegmentBytes).number, 0U);
}

TEST_F(RefusedSegments, NamesThatAreForgedOrOldOpenNothing) {
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

TEST_F(RefusedSegments, TheDigestTellsOfAWriterThatWroteOn) {
  Segments writer = open(ours_);
  Segments reader = open(theirs_);
  const Segment segment = take(writer, kSegmentBytes);
  segment.address[7] = std::byte{1};
  ASSERT_TRUE(writer.commit(segment.number, 100, ours_.stream()).ok());
  const SegmentName name = committed(writer).name;
  ASSERT_FALSE(opened(reader, name).error);
  EXPECT_TRUE(*reader.verify(name.number));
  segment.address[7] = std::byte{2};  // as it must not
  EXPECT_FALSE(*reader.verify(name.number));
  Segments without = open(ours_, /*digest=*/false);
  const Segment plain = take(without, kSegmentBytes);
  ASSERT_TRUE(without.commit(plain.number, 100, ours_.stream()).ok());
  const SegmentName unsaid = committed(without).name;
  ASSERT_FALSE(opened(reader, unsaid).error);
  EXPECT_EQ(reader.verify(unsaid.number).error().code, Code::failed_precondition);
}

TEST_F(RefusedSegments, AReaderCannotWriteWhatItReads) {
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

TEST_F(RefusedSegments, MoreThanTheQuotaIsRefusedAndSaid) {
  keeper_.stop();
  keeper_.start({AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--segment-bytes",
                 std::to_string(4 * kSegmentBytes)});
  const auto much = Segments::open(
      ours_.runtime(), {.segment_bytes = kSegmentBytes, .ready = 3, .keeper = keeper_.socket()});
  ASSERT_FALSE(much.ok());
  EXPECT_EQ(much.error().code, Code::resource_exhausted) << "half of it for one process";
  Segments writer = open(ours_);  // what was refused took nothing
  (void)take(writer, kSegmentBytes);
  (void)take(writer, kSegmentBytes);
  EXPECT_EQ(writer.take(kSegmentBytes).error().code, Code::resource_exhausted);
}

TEST_F(RefusedSegments, WhoFoundNoRoomIsWokenWhenThereIsSome) {
  keeper_.stop();
  keeper_.start({AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--segment-bytes",
                 std::to_string(2 * kSegmentBytes)});
  std::optional<Segments> first = open(ours_);  // all that one process may have
  Segments second = open(theirs_, true, 0);
  EXPECT_EQ(second.take(kSegmentBytes).error().code, Code::resource_exhausted);
  while (second.status().error.empty()) std::this_thread::yield();
  first.reset();
  EXPECT_NE(take(second, kSegmentBytes).number, 0U);
  EXPECT_EQ(second.status().error, "") << "the refusal is over";
}

TEST_F(RefusedSegments, WhoOpensThemWaitsForRoomThatIsGivenUpMeanwhile) {
  keeper_.stop();
  keeper_.start({AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--segment-bytes",
                 std::to_string(2 * kSegmentBytes)});
  static std::optional<Segments> first;
  first = open(ours_);  // all that one process may have
  step_hook = [](const char* name) {
    if (name == std::string_view("refused")) first.reset();
  };
  const auto second = Segments::open(
      theirs_.runtime(), {.segment_bytes = kSegmentBytes, .ready = 1, .keeper = keeper_.socket()});
  step_hook = nullptr;
  EXPECT_FALSE(first) << "it has been refused once";
  first.reset();
  EXPECT_TRUE(second.ok()) << second.error().message;
}

TEST_F(RefusedSegments, AKeeperThatIsStoppedWhileTheyAreOpenedIsUnavailable) {
  static test::KeeperProcess* keeper;
  keeper = &keeper_;
  step_hook = [](const char* name) {
    if (name == std::string_view("map")) keeper->process().stop();
  };
  const auto opened = Segments::open(
      ours_.runtime(), {.segment_bytes = kSegmentBytes, .ready = 2, .keeper = keeper_.socket()});
  step_hook = nullptr;
  keeper_.process().signal(SIGCONT);
  EXPECT_EQ(code_of(opened), "unavailable") << "the second one was not answered";
}

}  // namespace
}  // namespace aqua
