// SPDX-License-Identifier: Apache-2.0
// What a killed demonstration leaves behind, the next one removes; a living one's it leaves alone.
#include "workplace.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

namespace aqua::example {
namespace {

namespace fs = std::filesystem;

class Workplace : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(parent_.data()), nullptr);
    ASSERT_EQ(::setenv("TMPDIR", parent_.c_str(), 1), 0);
  }
  void TearDown() override { fs::remove_all(parent_); }

  [[nodiscard]] std::ptrdiff_t directories() const {
    return std::distance(fs::directory_iterator(parent_), fs::directory_iterator());
  }
  static void put_something_in(const PrivateDirectory& directory) {
    std::ofstream(directory.path() / "socket") << "left";
  }

  std::string parent_ = "/tmp/aqua-workplace-XXXXXX";
};

TEST_F(Workplace, IsRemovedWithWhatIsInIt) {
  {
    const PrivateDirectory directory;
    put_something_in(directory);
    EXPECT_EQ(directories(), 1);
  }
  EXPECT_EQ(directories(), 0);
}

TEST_F(Workplace, OfAKilledProcessIsRemovedByTheNext) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const PrivateDirectory directory;
    put_something_in(directory);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(directories(), 1);
  const PrivateDirectory next;
  EXPECT_EQ(directories(), 1);
  EXPECT_TRUE(fs::exists(next.path()));
}

TEST_F(Workplace, OfALivingProcessIsLeftAlone) {
  const PrivateDirectory first;
  put_something_in(first);
  const PrivateDirectory second;
  EXPECT_EQ(directories(), 2);
  EXPECT_TRUE(fs::exists(first.path() / "socket"));
}

}  // namespace
}  // namespace aqua::example
