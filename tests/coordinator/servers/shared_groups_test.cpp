// SPDX-License-Identifier: Apache-2.0
// Groups whose members are on several servers: real coordinators, members and etcd.
#include "coordinator/servers/shared_groups.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "base/concat.hpp"
#include "base/ids.hpp"
#include "coordinator/etcd/client.hpp"
#include "coordinator/servers/keys.hpp"
#include "groups/book.hpp"
#include "tests/coordinator/etcd/etcd_cluster.hpp"
#include "tests/coordinator/member_process.hpp"
#include "tests/coordinator/servers/shared_groups_fixture.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using groups::Group;

TEST_F(SharedGroups, EveryServerSeesTheSame) {
  for (const Server* server : {&*a, &*b}) {
    EXPECT_TRUE(server->sees([&](const Group& group) {
      return runs_in(group, 1) && group.members.at(first->id).server == "a" &&
             group.members.at(second->id).server == "b";
    }));
  }
}

TEST_F(SharedGroups, TheOperatorEndsOneFromAnywhere) {
  const auto all = admin::fetch_groups(b->daemon.address());
  ASSERT_TRUE(all.ok() && all->groups.size() == 1);
  ASSERT_TRUE(admin::end_group(b->daemon.address(), all->groups.front().id).ok());
  EXPECT_TRUE(eventually([&] {
    const auto seen = admin::fetch_groups(a->daemon.address());
    return seen.ok() && seen->groups.empty();
  }));
}

TEST_F(SharedGroups, AGroupOfABackupIsEnded) {
  etcd->back_up(0);
  MemberProcess spare(a->daemon.address(), kStandby);
  second->kill();
  spare.runs(2, 1);
  // As it was in term 1, with the one that has died and without its successor.
  etcd->restore(0);
  for (const Server* server : {&*a, &*b}) {
    EXPECT_TRUE(eventually([&] {
      const auto all = admin::fetch_groups(server->daemon.address());
      return all.ok() && all->groups.empty();
    }));
    EXPECT_TRUE(eventually([&] {
      const auto all = admin::fetch_servers(server->daemon.address());
      return all.ok() && all->fault.empty() && all->servers.size() == 2;
    }));
  }
}

// Nobody remembers it, but that etcd was further once.
TEST_F(SharedGroups, AGroupThatHasEndedDoesNotComeBackWithABackup) {
  etcd->back_up(0);
  const auto all = admin::fetch_groups(b->daemon.address());
  ASSERT_TRUE(all.ok() && all->groups.size() == 1);
  ASSERT_TRUE(eventually(
      [&] { return admin::end_group(b->daemon.address(), all->groups.front().id).ok(); }));
  etcd->restore(0);
  coordinator::etcd::Client client({.members = {etcd->url(0)}}, {});
  EXPECT_TRUE(eventually([&] {
    const auto rows = client.range(coordinator::kGroupKeys);
    return rows.ok() && rows->rows.empty();
  }));
}

// More of them than etcd deletes at once.
TEST(SharedGroupsStore, EndsAllGroupsOfABackup) {
  if (etcd_program().empty()) GTEST_SKIP() << "no etcd here: scripts/setup check";
  EtcdCluster etcd(1);
  coordinator::SharedGroups store({.members = {etcd.url(0)}});
  ASSERT_TRUE(store.read().ok());
  groups::Book book;
  for (const char* const change : {"first", "second", "third"}) {
    for (std::size_t i = 0; i < coordinator::kMostGroupsAtOnce; ++i) {
      const groups::Caller creator{random_id<ClientTag>(), 1000, "a"};
      ASSERT_TRUE(book.create(random_id<groups::GroupTag>(), concat(change, i),
                              {.prefill = {}, .decode = {1, 1}}, {"m", "f16", "l"}, creator)
                      .ok());
    }
    const auto written = store.commit(book, {});
    ASSERT_TRUE(written.ok() && *written);
    book.commit();
  }
  coordinator::etcd::Client client({.members = {etcd.url(0)}}, {});
  const std::string former(coordinator::kGroupChanges);
  ASSERT_TRUE(client.commit({.when = {}, .puts = {{former, "2 former", 0}}})->done);
  const auto read = store.read();
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->has_value() && (*read)->empty());
  EXPECT_TRUE(client.range(coordinator::kGroupKeys)->rows.empty());
}

TEST(SharedGroupsStore, KnowsABackupThatOthersHaveChangedMeanwhile) {
  if (etcd_program().empty()) GTEST_SKIP() << "no etcd here: scripts/setup check";
  EtcdCluster etcd(1);
  coordinator::SharedGroups store({.members = {etcd.url(0)}});
  ASSERT_TRUE(store.read().ok());
  groups::Book book;
  const groups::Caller creator{random_id<ClientTag>(), 1000, "a"};
  ASSERT_TRUE(book.create(random_id<groups::GroupTag>(), "chat", {.prefill = {}, .decode = {1, 1}},
                          {"m", "f16", "l"}, creator)
                  .ok());
  ASSERT_TRUE(store.commit(book, {}).value());
  coordinator::etcd::Client client({.members = {etcd.url(0)}}, {});
  const std::string changes(coordinator::kGroupChanges);
  ASSERT_TRUE(client.commit({.when = {}, .puts = {{changes, "1 another", 0}}})->done);
  EXPECT_FALSE(store.commit(book, {}).value());
  const auto read = store.read();
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE((*read)->empty());
}

}  // namespace
}  // namespace aqua::testing
