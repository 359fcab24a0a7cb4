// SPDX-License-Identifier: Apache-2.0
#include "base/own_directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace aqua {
namespace {

class OwnDirectory : public ::testing::Test {
 protected:
  OwnDirectory() {
    std::string name = "/tmp/aqua-own-XXXXXX";
    parent_ = ::mkdtemp(name.data());
  }
  ~OwnDirectory() override { std::filesystem::remove_all(parent_); }
  void expect_refused(const std::string& path, const std::string& why) {
    const auto opened = open_own_directory("sockets", path);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Code::permission_denied);
    EXPECT_NE(opened.error().message.find(why), std::string::npos) << opened.error().message;
  }

  std::string parent_;
};

TEST_F(OwnDirectory, IsMadeWhereThereIsNoneAndFoundAgain) {
  const std::string path = parent_ + "/new/";
  ASSERT_TRUE(open_own_directory("sockets", path).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  EXPECT_TRUE(open_own_directory("sockets", path).ok());
  EXPECT_EQ(open_own_directory("sockets", parent_ + "/no/parent").error().code, Code::not_found);
}

TEST_F(OwnDirectory, IsNoneThatOthersMayWriteTo) {
  for (const mode_t mode : {0720U, 0702U}) {
    ASSERT_EQ(::chmod(parent_.c_str(), mode), 0);
    expect_refused(parent_, "writable by nobody else");
  }
}

TEST_F(OwnDirectory, IsNoLinkToOneHoweverItIsWritten) {
  std::filesystem::create_directory(parent_ + "/real");
  std::filesystem::create_symlink(parent_ + "/real", parent_ + "/link");
  std::filesystem::permissions(parent_ + "/real", std::filesystem::perms::owner_all);
  expect_refused(parent_ + "/link", "no link");
  expect_refused(parent_ + "/link/", "no link");
}

TEST_F(OwnDirectory, IsNoneOfAnotherUsersEvenForRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make another user's";
  ASSERT_EQ(::chown(parent_.c_str(), 65534, 65534), 0);
  expect_refused(parent_, "must belong to user 0");
}

}  // namespace
}  // namespace aqua
