// SPDX-License-Identifier: Apache-2.0
#include "base/whole_io.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/memory/memfd.hpp"

namespace aqua {
namespace {

using Bytes = std::vector<std::byte>;

TEST(WholeIo, ReadsWhatWasWrittenAtAnOffset) {
  const UniqueFd fd = create_memfd("whole_io");
  const Bytes written(300'000, std::byte{7});
  ASSERT_TRUE(write_at(fd.get(), 5, written, "it").ok());
  Bytes read(written.size());
  EXPECT_EQ(read_at(fd.get(), 5, read, "it").value(), read.size());
  EXPECT_EQ(read, written);
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_CUR), 0) << "the descriptor's own offset";
}

TEST(WholeIo, SaysHowMuchThereIsBeforeTheEnd) {
  const UniqueFd fd = create_memfd("whole_io");
  ASSERT_TRUE(write_at(fd.get(), 0, Bytes(10, std::byte{7}), "it").ok());
  Bytes read(20);
  EXPECT_EQ(read_at(fd.get(), 4, read, "it").value(), 6U);
  EXPECT_EQ(std::ranges::count(read, std::byte{7}), 6);
  EXPECT_EQ(read_at(fd.get(), 10, read, "it").value(), 0U);
}

TEST(WholeIo, NamesWhatCannotBeReadOrWritten) {
  Bytes bytes(1);
  for (const Error& error :
       {read_at(-1, 0, bytes, "the log").error(), write_at(-1, 0, bytes, "the log").error()}) {
    EXPECT_THAT(error.message, ::testing::StartsWith("the log: "));
  }
}

}  // namespace
}  // namespace aqua
