// SPDX-License-Identifier: Apache-2.0
// Groups whose members are on several servers: real coordinators, members and etcd, of which each
// is killed, stopped or cut off.
#include "coordinator/servers/shared_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/concat.hpp"
#include "base/ids.hpp"
#include "coordinator/etcd/client.hpp"
#include "coordinator/servers/keys.hpp"
#include "groups/book.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/etcd/etcd_cluster.hpp"
#include "tests/coordinator/member_process.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using groups::Group;
using groups::State;

// A server: its coordinator.
struct Server {
  Server(const std::string& etcd, const std::string& name, const std::string& ttl)
      : daemon({"--etcd", etcd, "--server", name, "--server-ttl", ttl}) {
    EXPECT_TRUE(eventually([&] {
      const auto all = admin::fetch_servers(daemon.address());
      return all.ok() && all->fault.empty();
    }));
  }
  template <typename Is>
  [[nodiscard]] bool sees(Is&& is) const {
    return eventually([&] {
      const auto all = admin::fetch_groups(daemon.address());
      return all.ok() && all->groups.size() == 1 && is(all->groups.front());
    });
  }
  DaemonProcess daemon;
};

struct SharedGroups : ::testing::Test {
  void SetUp() override {
    if (etcd_program().empty()) GTEST_SKIP() << "no etcd here: scripts/setup check";
    etcd.emplace(1);
    start("600000");
  }
  // Servers live for ten minutes without a sign, but where b is to be taken for gone: on a machine
  // that is busy one may well be late by seconds.
  void start(const std::string& ttl_of_b) {
    a.emplace(etcd->urls(), "a", "600000");
    b.emplace(etcd->urls(), "b", ttl_of_b);
    first.emplace(a->daemon.address(), 0);
    second.emplace(b->daemon.address(), 1);
    first->runs(1, 0);
    second->runs(1, 1);
  }
  static bool runs_in(const Group& group, groups::Term term) {
    return group.state == State::running && group.term == term;
  }
  std::optional<EtcdCluster> etcd;
  std::optional<Server> a, b;
  std::optional<MemberProcess> first, second;  // of a and of b
};

TEST_F(SharedGroups, EveryServerSeesTheSame) {
  for (const Server* server : {&*a, &*b}) {
    EXPECT_TRUE(server->sees([&](const Group& group) {
      return runs_in(group, 1) && group.members.at(first->id).server == "a" &&
             group.members.at(second->id).server == "b";
    }));
  }
}

TEST_F(SharedGroups, AMemberThatDiesIsFollowedByAStandbyOfAnotherServer) {
  MemberProcess spare(a->daemon.address(), kStandby);
  second->kill();
  spare.runs(2, 1);
  first->runs(2, 0);
  EXPECT_TRUE(b->sees([](const Group& group) { return runs_in(group, 2); }));
}

TEST_F(SharedGroups, ACoordinatorThatComesBackLosesNoMember) {
  for (const bool killed : {true, false}) {
    if (killed) {
      b->daemon.kill();
    } else {
      EXPECT_EQ(b->daemon.stop(), 0);
    }
    b->daemon.start();
    EXPECT_TRUE(b->sees([&](const Group& group) {
      return runs_in(group, 1) && !group.members.at(second->id).silent;
    }));
  }
  EXPECT_TRUE(a->sees([](const Group& group) { return runs_in(group, 1); }));
}

TEST_F(SharedGroups, ADeathWhileItsCoordinatorIsAwayIsHeardOfAfterwards) {
  MemberProcess spare(a->daemon.address(), kStandby);
  b->daemon.kill();
  second->kill();
  b->daemon.start();
  spare.runs(2, 1);
  first->runs(2, 0);
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

TEST_F(SharedGroups, WithoutEtcdNothingChangesAndTheGroupGoesOn) {
  MemberProcess spare(a->daemon.address(), kStandby);
  etcd->kill(0);
  second->kill();
  // Somebody hears that nothing can be changed: only then was there time enough to do so wrongly.
  EXPECT_TRUE(eventually([&] {
    const auto all = admin::fetch_groups(a->daemon.address());
    return all.ok() && !all->groups.empty() &&
           !admin::end_group(a->daemon.address(), all->groups.front().id).ok();
  }));
  EXPECT_TRUE(a->sees([](const Group& group) { return runs_in(group, 1); }));
  etcd->start(0);
  spare.runs(2, 1);
  first->runs(2, 0);
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

struct SharedGroupsOfShortLives : SharedGroups {
  void SetUp() override {
    if (etcd_program().empty()) GTEST_SKIP() << "no etcd here: scripts/setup check";
    etcd.emplace(1);
    start("6000");
  }
};

TEST_F(SharedGroupsOfShortLives, AServerThatDiesIsFollowedByAStandbyOfAnother) {
  MemberProcess spare(a->daemon.address(), kStandby);
  b->daemon.kill();
  second->kill();
  spare.runs(2, 1);
  first->runs(2, 0);
  EXPECT_TRUE(a->sees([&](const Group& group) { return !group.members.contains(second->id); }));
}

TEST_F(SharedGroupsOfShortLives, WhoIsCutOffIsReplacedAndHearsOfItWhenItIsBack) {
  MemberProcess spare(a->daemon.address(), kStandby);
  b->daemon.process().stop();  // its member runs on, in the former term
  spare.runs(2, 1);
  first->runs(2, 0);
  b->daemon.process().signal(SIGCONT);
  EXPECT_TRUE(b->sees([&](const Group& group) {
    return runs_in(group, 2) && !group.members.contains(second->id);
  }));
  EXPECT_EQ(second->process.read_line(), "replaced");
  EXPECT_TRUE(eventually([&] {
    const auto all = admin::fetch_servers(a->daemon.address());
    return all.ok() && all->servers.size() == 2;
  }));
}

}  // namespace
}  // namespace aqua::testing
