// SPDX-License-Identifier: Apache-2.0
// Which coordinator a command asks, where none is named.
#include "tools/cli/coordinator_option.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/coordinator/daemon_process.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::tool {
namespace {

using ::testing::HasSubstr;

struct CoordinatorOption : ::testing::Test {
  void SetUp() override { ::unsetenv("AQUA_COORDINATOR"); }
  void TearDown() override { ::unsetenv("AQUA_COORDINATOR"); }
  std::string address;
};

TEST_F(CoordinatorOption, IsThePackagesSocketWhereThereIsOne) {
  const testing::DaemonProcess daemon;
  const std::string socket = daemon.address().substr(std::string("unix:").size());
  ASSERT_TRUE(resolve_coordinator(address, "status", socket.c_str()).ok());
  EXPECT_EQ(address, daemon.address());
  EXPECT_TRUE(admin::fetch_info(address).ok());
}

TEST_F(CoordinatorOption, TheEnvironmentGoesBeforeItAndAGivenOneBeforeBoth) {
  ASSERT_EQ(::setenv("AQUA_COORDINATOR", "unix:/of/the/environment", 1), 0);
  ASSERT_TRUE(resolve_coordinator(address, "status", "/nowhere").ok());
  EXPECT_EQ(address, "unix:/of/the/environment");
  address = "unix:/given";
  ASSERT_TRUE(resolve_coordinator(address, "status", "/nowhere").ok());
  EXPECT_EQ(address, "unix:/given");
}

TEST_F(CoordinatorOption, WithoutAnyTheMessageSaysWhatToDo) {
  const auto resolved = resolve_coordinator(address, "status", "/nowhere");
  ASSERT_FALSE(resolved.ok());
  EXPECT_EQ(resolved.error().code, Code::invalid_argument);
  EXPECT_THAT(resolved.error().message, HasSubstr("give --coordinator"));
}

}  // namespace
}  // namespace aqua::tool
