// SPDX-License-Identifier: Apache-2.0
#include "base/read_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "base/unique_fd.hpp"

namespace aqua {
namespace {

struct ReadFile : ::testing::Test {
  ReadFile() { path = ::testing::TempDir() + "read_file." + std::to_string(::getpid()); }
  ~ReadFile() override { std::filesystem::remove(path); }
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
  std::filesystem::path path;
};

TEST_F(ReadFile, GivesAllOfItUpToTheLimit) {
  const std::string text(200'000, 'x');
  for (const std::string& content : {std::string(), std::string("a\0b", 3), text}) {
    write(content);
    const auto whole = read_file(path, text.size());
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    EXPECT_EQ(*whole, content);
  }
  const auto refused = read_file(path, text.size() - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr(path.native()));
}

TEST_F(ReadFile, GivesFilesThatTellNoSize) {
  const auto status = read_file("/proc/self/status");
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_THAT(*status, ::testing::HasSubstr("Pid:"));
  EXPECT_EQ(read_file("/proc/self/status", 10).error().code, Code::resource_exhausted);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd from(ends[0]);
  {
    const UniqueFd to(ends[1]);
    ASSERT_EQ(::write(to.get(), "piped", 5), 5);
  }
  EXPECT_EQ(read_file_of(from.get(), "a pipe", 5).value(), "piped");
}

TEST_F(ReadFile, TakesMemoryForWhatItReadsAndNotForWhatASizeClaims) {
  constexpr off_t kClaimed = off_t{1} << 28;
  const UniqueFd sparse(::memfd_create("sparse", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(sparse.get(), kClaimed), 0);
  ASSERT_EQ(::lseek(sparse.get(), kClaimed - 5, SEEK_SET), kClaimed - 5);
  const auto rest = read_file_of(sparse.get(), "the end of a large file");
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_EQ(rest->size(), 5U);
  EXPECT_LT(rest->capacity(), std::size_t{1} << 22);
}

TEST_F(ReadFile, GivesALargeFileWhole) {
  const std::string text(5'000'000, 'y');
  write(text);
  EXPECT_EQ(read_file(path, text.size()).value(), text);
  EXPECT_EQ(read_file(path, text.size() - 1).error().code, Code::resource_exhausted);
}

TEST_F(ReadFile, SaysWhyItCannot) {
  const auto absent = read_file(path);
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, Code::not_found);
  EXPECT_THAT(absent.error().message, ::testing::HasSubstr("No such file"));
  const auto folder = read_file(::testing::TempDir());
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, ::testing::HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace aqua
