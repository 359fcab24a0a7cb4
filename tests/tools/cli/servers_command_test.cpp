// SPDX-License-Identifier: Apache-2.0
// What `aqua servers` prints of what it was told.
#include "tools/cli/servers/servers_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aqua::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

wire::Servers two() {
  wire::Servers all{.self = "gpu2", .shared = true};
  all.servers = {{.name = "gpu1", .host = "h1", .coordinator = "https://h1:7071", .clients = 3},
                 {.name = "gpu2", .host = "h2", .groups = 1, .lent_bytes = 3 << 20}};
  return all;
}

TEST(ServersTable, MarksTheOneThatAnswers) {
  const std::string table = servers_table(two());
  EXPECT_THAT(table, HasSubstr("gpu2 *"));
  EXPECT_THAT(table, HasSubstr("https://h1:7071"));
  EXPECT_THAT(table, HasSubstr("3.0"));
  EXPECT_THAT(table, Not(HasSubstr("as of")));
  EXPECT_THAT(table, Not(HasSubstr("--etcd")));
}

TEST(ServersTable, SaysWhyItMayBeOutOfDate) {
  wire::Servers all = two();
  all.fault = "no leader";
  all.age = ledger::Time{12'900};
  EXPECT_THAT(servers_table(all), HasSubstr("as of 12 s ago: no leader"));
  all.age.reset();
  EXPECT_THAT(servers_table(all),
              HasSubstr("not been read since this coordinator was started: no"));
}

TEST(ServersTable, SaysWhatOneAloneLacks) {
  wire::Servers all = two();
  all.shared = false;
  EXPECT_THAT(servers_table(all), HasSubstr("--etcd"));
}

}  // namespace
}  // namespace aqua::tool
