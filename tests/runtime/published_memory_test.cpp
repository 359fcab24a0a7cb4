// SPDX-License-Identifier: Apache-2.0
#include "aqua/published_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "tests/base/code_of.hpp"
#include "tests/base/forked_child.hpp"
#include "tests/base/open_emulated.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using Slabs = std::vector<std::size_t>;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 31 + i / 251 + seed);
  return made;
}

class Published : public ::testing::Test {
 protected:
  // Sealed, with the pattern of `seed`.
  PublishedMemory publish(const Slabs& slabs, unsigned seed) {
    PublishedMemory memory = PublishedMemory::create(writer_, slabs).value();
    const auto bytes = pattern(memory.bytes(), seed);
    EXPECT_TRUE(memory.write(0, bytes.data(), bytes.size()).ok());
    EXPECT_EQ(memory.seal().value(), WriteProtection::enforced);
    return memory;
  }
  static bool holds(const PublishedMemory& memory, unsigned seed) {
    std::vector<std::byte> read(memory.bytes());
    EXPECT_TRUE(memory.read(0, read.data(), read.size()).ok());
    return read == pattern(memory.bytes(), seed);
  }

  Runtime writer_ = test::open_emulated(32_MiB, 2_MiB, true);
  Runtime reader_ = test::open_emulated(32_MiB, 2_MiB, true);
};

TEST_F(Published, WhatOneWritesAndSealsAnotherReads) {
  const PublishedMemory memory = publish({4_MiB, 2_MiB}, 1);
  PublishedMemory read = PublishedMemory::open(reader_, memory.descriptors().value()).value();
  EXPECT_EQ(read.bytes(), 6_MiB);
  EXPECT_TRUE(holds(read, 1));
  EXPECT_TRUE(holds(memory, 1)) << "at the writer's as well";
  EXPECT_EQ(PublishedMemory::device_of(writer_), PublishedMemory::device_of(reader_));
}

TEST_F(Published, AKernelReadsItWhereItLies) {
  const PublishedMemory memory = publish({2_MiB, 2_MiB}, 2);
  PublishedMemory read = PublishedMemory::open(reader_, memory.descriptors().value()).value();
  const Stream stream = emulated::create_stream(reader_).value();
  bool same = false;
  ASSERT_TRUE(emulated::launch(reader_, stream, [&] {
                const auto expected = pattern(4_MiB, 2);
                same =
                    std::memcmp(emulated::kernel_view(read.address()), expected.data(), 4_MiB) == 0;
              }).ok());
  ASSERT_TRUE(emulated::synchronize(reader_, stream).ok());
  EXPECT_TRUE(same) << "over both slabs";
  EXPECT_TRUE(emulated::destroy_stream(reader_, stream).ok());
}

TEST_F(Published, NobodyWritesItAnyMore) {
  PublishedMemory memory = publish({2_MiB}, 3);
  PublishedMemory read = PublishedMemory::open(reader_, memory.descriptors().value()).value();
  const std::byte one{1};
  EXPECT_EQ(code_of(memory.write(0, &one, 1)), "permission_denied");
  EXPECT_EQ(code_of(read.write(0, &one, 1)), "permission_denied");
  EXPECT_EQ(code_of(read.seal()), "failed_precondition");
  EXPECT_TRUE(memory.seal().ok()) << "twice is once";
  EXPECT_TRUE(holds(read, 3));
}

TEST_F(Published, WhatIsNotSealedHasNoDescriptors) {
  const PublishedMemory memory = PublishedMemory::create(writer_, {2_MiB}).value();
  EXPECT_EQ(code_of(memory.descriptors()), "failed_precondition");
}

TEST_F(Published, SizesThatCannotBeAreRefused) {
  EXPECT_EQ(code_of(PublishedMemory::create(writer_, {})), "invalid_argument");
  EXPECT_EQ(code_of(PublishedMemory::create(writer_, {1_MiB})), "invalid_argument");
  EXPECT_EQ(code_of(PublishedMemory::create(writer_, {0})), "invalid_argument");
  EXPECT_EQ(code_of(PublishedMemory::create(writer_, {2_MiB, SIZE_MAX - 2_MiB + 1})),
            "invalid_argument");
  EXPECT_EQ(code_of(PublishedMemory::create(writer_, {32_MiB, 2_MiB})), "resource_exhausted");
  EXPECT_TRUE(PublishedMemory::create(writer_, {32_MiB}).ok()) << "nothing of the others stayed";
}

TEST_F(Published, DescriptorsThatAreNoSealedSlabsAreRefused) {
  const PublishedMemory memory = publish({2_MiB}, 4);
  const SlabDescriptor slab = memory.descriptors().value().front();
  EXPECT_EQ(code_of(PublishedMemory::open(reader_, {})), "invalid_argument");
  EXPECT_EQ(code_of(PublishedMemory::open(reader_, {{slab.descriptor, 4_MiB}})),
            "invalid_argument");
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(code_of(PublishedMemory::open(reader_, {slab, {file, 2_MiB}})), "invalid_argument");
  ::close(file);
  EXPECT_EQ(code_of(PublishedMemory::open(reader_, {{file, 2_MiB}})), "invalid_argument")
      << "closed";
  EXPECT_EQ(code_of(PublishedMemory::open(reader_, {{-1, 2_MiB}})), "invalid_argument");
}

TEST_F(Published, ReadsAndWritesBeyondItAreRefused) {
  PublishedMemory memory = PublishedMemory::create(writer_, {2_MiB}).value();
  std::byte one{1};
  EXPECT_EQ(code_of(memory.write(2_MiB, &one, 1)), "invalid_argument");
  EXPECT_EQ(code_of(memory.read(1, &one, 2_MiB)), "invalid_argument");
  EXPECT_EQ(code_of(memory.read(SIZE_MAX, &one, 2)), "invalid_argument");
  EXPECT_TRUE(memory.write(2_MiB, &one, 0).ok());
}

TEST_F(Published, ReleasedItKeepsItsAddressesAndTakesOtherSlabsOfTheSameSizes) {
  PublishedMemory first = publish({2_MiB, 2_MiB}, 5);
  PublishedMemory read = PublishedMemory::open(reader_, first.descriptors().value()).value();
  const std::byte* const address = read.address();
  ASSERT_TRUE(read.release().ok());
  std::byte one{};
  EXPECT_EQ(code_of(read.read(0, &one, 1)), "failed_precondition");
  EXPECT_TRUE(read.release().ok()) << "twice is once";
  const PublishedMemory second = publish({2_MiB, 2_MiB}, 6);
  const PublishedMemory other = publish({4_MiB}, 7);
  EXPECT_EQ(code_of(read.reopen(other.descriptors().value())), "invalid_argument");
  ASSERT_TRUE(read.reopen(second.descriptors().value()).ok());
  EXPECT_EQ(read.address(), address);
  EXPECT_TRUE(holds(read, 6));
  EXPECT_EQ(code_of(read.reopen(first.descriptors().value())), "failed_precondition");
  EXPECT_EQ(code_of(first.release()), "failed_precondition");
}

TEST_F(Published, TheMemoryOutlivesTheWriter) {
  std::optional<PublishedMemory> memory = publish({2_MiB}, 8);
  const PublishedMemory read =
      PublishedMemory::open(reader_, memory->descriptors().value()).value();
  memory.reset();
  EXPECT_TRUE(holds(read, 8));
}

TEST_F(Published, ThreadsReadSideBySide) {
  const PublishedMemory memory = publish({2_MiB}, 9);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_TRUE(holds(memory, 9)); });
  for (std::thread& thread : threads) thread.join();
}

// The child has what its parent had mapped to be written, until it ends.
TEST_F(Published, AForkedChildKeepsItFromBeingSealedUntilItEnds) {
  PublishedMemory memory = PublishedMemory::create(writer_, {2_MiB}).value();
  const auto bytes = pattern(2_MiB, 10);
  ASSERT_TRUE(memory.write(0, bytes.data(), bytes.size()).ok());
  test::ForkedChild child;
  EXPECT_EQ(code_of(memory.seal()), "failed_precondition");
  const std::byte one{1};
  EXPECT_EQ(code_of(memory.write(0, &one, 1)), "failed_precondition");
  child.end();
  ASSERT_TRUE(memory.seal().ok());
  EXPECT_TRUE(holds(memory, 10));
}

}  // namespace
}  // namespace aqua
