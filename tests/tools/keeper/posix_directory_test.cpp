// SPDX-License-Identifier: Apache-2.0
// A log on a real disk.
#include "tools/keeper/disk/posix_directory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "tests/tools/keeper/log_on_disk.hpp"
#include "tools/keeper/disk/blob_log.hpp"

namespace {

std::mutex synced_mu;
std::vector<std::filesystem::path> synced;  // by fsync()

}  // namespace

// In place of the C library's: it does the same, and what is synced is noted.
extern "C" int fsync(int fd) {
  std::error_code none;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), none);
  {
    const std::lock_guard lock(synced_mu);
    synced.push_back(path);
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace aqua::keeper::test {
namespace {

TEST_F(LogOnDisk, IsOfItsUserAlone) {
  auto log = open();
  ASSERT_TRUE(log.ok()) << log.error().message;
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat((path_ + "/0000000001.blobs").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(LogOnDisk, IsOpenOnceAtATime) {
  {
    auto log = open();
    ASSERT_TRUE(log.ok());
    EXPECT_EQ(open().error().code, Code::failed_precondition);
  }
  EXPECT_TRUE(open().ok());
}

// What is synced in a directory is of no use where a power cut takes back the directory.
TEST_F(LogOnDisk, TheDirectoryThatItIsMadeInIsSynced) {
  ASSERT_TRUE(open().ok());
  const std::lock_guard lock(synced_mu);
  const auto parent = std::filesystem::canonical(parent_);
  EXPECT_NE(std::ranges::find(synced, parent), synced.end());
  EXPECT_NE(std::ranges::find(synced, parent / "log"), synced.end()) << "and what it has";
}

TEST_F(LogOnDisk, HasFewDescriptorsOfManyFiles) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  constexpr int kFiles = 40;
  const auto before = descriptors();
  {
    auto directory = open_log_directory(path_);
    ASSERT_TRUE(directory.ok());
    auto log = BlobLog::open(*std::move(directory), {.most_bytes = 1 << 20, .file_bytes = 256});
    for (std::uint64_t i = 0; i < kFiles; ++i) {
      ASSERT_TRUE(log->put("blob " + std::to_string(i), stamped(100 + i)).ok());
    }
    EXPECT_LT(descriptors(), before + kFiles / 2);
  }
  auto directory = open_log_directory(path_);
  ASSERT_TRUE(directory.ok());
  auto log = BlobLog::open(*std::move(directory), {.most_bytes = 1 << 20, .file_bytes = 256});
  for (std::uint64_t i = 0; i < kFiles; ++i) {
    EXPECT_EQ(log->read("blob " + std::to_string(i)).value(), stamped(100 + i)) << i;
  }
  EXPECT_LT(descriptors(), before + kFiles / 2);
}

TEST_F(LogOnDisk, RefusesADirectoryWithOtherFiles) {
  ASSERT_TRUE(open().ok());
  std::ofstream(path_ + "/notes.txt") << "mine";
  EXPECT_EQ(open().error().code, Code::failed_precondition);
  EXPECT_TRUE(std::filesystem::exists(path_ + "/notes.txt"));
}

TEST_F(LogOnDisk, RefusesWhatIsNoFileAndLeavesItThere) {
  const std::string name = path_ + "/0000000001.blobs", elsewhere = parent_ + "/notes.txt";
  std::ofstream(elsewhere) << "mine";
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  const auto refused = [&] {
    const auto log = open();
    return !log.ok() && log.error().code == Code::failed_precondition &&
           std::filesystem::symlink_status(name).type() != std::filesystem::file_type::not_found;
  };
  ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0);
  EXPECT_TRUE(refused()) << "a pipe";
  std::filesystem::remove(name);
  std::filesystem::create_symlink(elsewhere, name);
  EXPECT_TRUE(refused()) << "a link";
  std::filesystem::remove(name);
  std::filesystem::create_directory(name);
  EXPECT_TRUE(refused()) << "a directory";
  std::filesystem::remove(name);
  EXPECT_TRUE(open().ok());
  EXPECT_EQ(std::filesystem::file_size(elsewhere), 4U);
}

// Whether parts of files can be given back where this one is.
bool can_punch(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  EXPECT_EQ(::ftruncate(file.get(), 1 << 20), 0);
  const int outcome =
      ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 19);
  const bool can_not = outcome != 0 && errno == EOPNOTSUPP;
  EXPECT_TRUE(outcome == 0 || can_not);
  EXPECT_EQ(::unlink(path.c_str()), 0);
  return !can_not;
}

TEST_F(LogOnDisk, GivesBackTheRoomOfWhatWasErased) {
  if (!can_punch(path_ + "-probe"))
    GTEST_SKIP() << "this file system gives back whole files alone (no FALLOC_FL_PUNCH_HOLE)";
  constexpr std::uint64_t kBody = 4 << 20;
  const auto on_disk = [&] {
    struct stat status {};
    EXPECT_EQ(::stat((path_ + "/0000000001.blobs").c_str(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  };
  auto directory = open_log_directory(path_);
  ASSERT_TRUE(directory.ok());
  auto log = BlobLog::open(*std::move(directory), {.most_bytes = 64 << 20, .file_bytes = 32 << 20});
  for (const char* const name : {"first", "second"}) {
    ASSERT_TRUE(log->put(name, std::vector<std::byte>(kBody, std::byte{1})).ok());
    ASSERT_TRUE(log->sync().ok());
  }
  ASSERT_GE(on_disk(), 2 * kBody);
  ASSERT_TRUE(log->erase("first").ok());
  ASSERT_TRUE(log->sync().ok());
  EXPECT_LT(on_disk(), kBody + kBody / 2);
  EXPECT_EQ(*log->read("second"), std::vector<std::byte>(kBody, std::byte{1}));
}

}  // namespace
}  // namespace aqua::keeper::test
