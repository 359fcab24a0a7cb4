// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/write_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/read_file.hpp"
#include "base/unique_fd.hpp"
#include "tests/base/temp_dir.hpp"

namespace aqua::tool {
namespace {

TEST(WriteFile, TakesThePlaceOfWhatWasThereAndLeavesNothingBeside) {
  const testing::TempDir dir;
  const std::string path = dir.path() + "/out.json";
  ASSERT_TRUE(check_writable(path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(write_file(path, "first, and longer").ok());
  ASSERT_TRUE(write_file(path, "second").ok());
  EXPECT_EQ(read_file(path).value(), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(WriteFile, NamesThePathAndTheReason) {
  const testing::TempDir dir;
  for (const auto& refused :
       {check_writable(dir.path() + "/no/out"), write_file(dir.path() + "/no/out", "")}) {
    EXPECT_EQ(refused.error().code, Code::not_found);
    EXPECT_NE(refused.error().message.find(dir.path() + "/no/out"), std::string::npos);
  }
  EXPECT_FALSE(check_writable(dir.path()).ok()) << "a folder";
  EXPECT_FALSE(write_file(dir.path(), "").ok()) << "a folder";
}

TEST(WriteFile, APipeIsWrittenToAndNotReplaced) {
  const testing::TempDir dir;
  const std::string pipe = dir.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const UniqueFd end(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(check_writable(pipe).ok());
  ASSERT_TRUE(write_file(pipe, "text").ok());
  std::array<char, 8> said{};
  EXPECT_EQ(::read(end.get(), said.data(), said.size()), 4);
  EXPECT_STREQ(said.data(), "text");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(WriteFile, ALinkIsFollowedAndNotReplaced) {
  const testing::TempDir dir;
  const std::string path = dir.path() + "/out.json", link = dir.path() + "/link";
  ASSERT_TRUE(write_file(path, "first, and longer").ok());
  std::filesystem::create_symlink(path, link);
  ASSERT_TRUE(check_writable(link).ok());
  ASSERT_TRUE(write_file(link, "second").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read_file(path).value(), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 2);
}

}  // namespace
}  // namespace aqua::tool
