// SPDX-License-Identifier: Apache-2.0
// What tells two coordinators of one name apart.
#include "coordinator/servers/server_owner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/base/temp_dir.hpp"

namespace aqua::coordinator {
namespace {

using aqua::testing::TempDir;

TEST(ServerOwner, IsTheDirectorysForItsLife) {
  const TempDir one, other;
  const auto first = server_owner(one.path());
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(*server_owner(one.path()), *first);
  EXPECT_NE(*server_owner(other.path()), *first);
  EXPECT_FALSE(first->is_nil());
}

TEST(ServerOwner, AFileThatIsNoneIsNamedAndLeftAsItIs) {
  const TempDir dir;
  for (const std::string& text : {std::string(), std::string("x\n"), std::string(31, 'a') + "\n"}) {
    std::ofstream(dir / "server") << text;
    const auto read = server_owner(dir.path());
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, Code::data_loss);
    EXPECT_THAT(read.error().message, ::testing::HasSubstr(dir / "server"));
    EXPECT_EQ(std::filesystem::file_size(dir / "server"), text.size());
  }
  std::ofstream(dir / "server") << std::string(1000, 'a');
  EXPECT_EQ(server_owner(dir.path()).error().code, Code::resource_exhausted);
}

TEST(ServerOwner, WithoutTheDirectoryThereIsNone) {
  EXPECT_EQ(server_owner("/nowhere/at/all").error().code, Code::not_found);
}

}  // namespace
}  // namespace aqua::coordinator
