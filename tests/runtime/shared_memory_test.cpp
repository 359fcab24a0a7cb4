// SPDX-License-Identifier: Apache-2.0
#include "aqua/shared_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "aqua/stream_mark.hpp"
#include "tests/base/code_of.hpp"
#include "tests/base/open_emulated.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;

class Shared : public ::testing::Test {
 protected:
  Runtime one_ = test::open_emulated(16_MiB, 2_MiB);
  Runtime other_ = test::open_emulated(16_MiB, 2_MiB);
};

TEST_F(Shared, WhatOneWritesTheOtherReads) {
  SharedMemory made = SharedMemory::create(one_, {2_MiB, 4_MiB}).value();
  EXPECT_EQ(made.bytes(), 6_MiB);
  EXPECT_TRUE(std::all_of(made.address(), made.address() + made.bytes(),
                          [](std::byte b) { return b == std::byte{0}; }));
  const SharedMemory mapped = SharedMemory::open(other_, made.descriptors()).value();
  EXPECT_TRUE(mapped.descriptors().empty());
  ASSERT_EQ(mapped.bytes(), made.bytes());
  made.address()[3_MiB] = std::byte{7};
  mapped.address()[1_MiB] = std::byte{8};
  EXPECT_EQ(mapped.address()[3_MiB], std::byte{7});
  EXPECT_EQ(made.address()[1_MiB], std::byte{8});
}

TEST_F(Shared, ItOutlivesItsMaker) {
  std::vector<SlabDescriptor> slabs;
  {
    const SharedMemory made = SharedMemory::create(one_, {2_MiB}).value();
    made.address()[5] = std::byte{9};
    slabs = made.descriptors();
    slabs[0].descriptor = ::dup(slabs[0].descriptor);
  }
  const SharedMemory mapped = SharedMemory::open(other_, slabs).value();
  ::close(slabs[0].descriptor);
  EXPECT_EQ(mapped.address()[5], std::byte{9});
}

TEST_F(Shared, WhatCannotBeIsRefused) {
  EXPECT_EQ(code_of(SharedMemory::create(one_, {})), "invalid_argument");
  EXPECT_EQ(code_of(SharedMemory::create(one_, {3_MiB})), "invalid_argument");
  EXPECT_EQ(code_of(SharedMemory::create(one_, {2_MiB, 16_MiB})), "resource_exhausted");
  const SharedMemory made = SharedMemory::create(one_, {2_MiB}).value();
  auto slabs = made.descriptors();
  slabs[0].bytes = 4_MiB;
  EXPECT_EQ(code_of(SharedMemory::open(other_, slabs)), "invalid_argument");
  slabs[0].bytes = 2_MiB;
  slabs[0].descriptor = ::dup(STDERR_FILENO);
  EXPECT_EQ(code_of(SharedMemory::open(other_, slabs)), "invalid_argument");
  ::close(slabs[0].descriptor);
  EXPECT_EQ(code_of(SharedMemory::open(other_, slabs)), "invalid_argument") << "closed";
  slabs[0].descriptor = -1;
  EXPECT_EQ(code_of(SharedMemory::open(other_, slabs)), "invalid_argument");
}

TEST_F(Shared, AMarkIsAwaitedByAThread) {
  const Stream stream = emulated::create_stream(one_).value();
  StreamMark mark = StreamMark::create(one_).value();
  EXPECT_TRUE(mark.wait().ok()) << "nothing is marked";
  bool ran = false;
  ASSERT_TRUE(emulated::launch(one_, stream, [&] { ran = true; }).ok());
  ASSERT_TRUE(mark.set(stream).ok());
  EXPECT_TRUE(mark.wait().ok());
  EXPECT_TRUE(ran);
  EXPECT_TRUE(emulated::destroy_stream(one_, stream).ok());
}

}  // namespace
}  // namespace aqua
