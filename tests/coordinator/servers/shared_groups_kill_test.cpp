// SPDX-License-Identifier: Apache-2.0
// Groups whose members are on several servers: real coordinators, members and etcd, of which each
// is killed, and coordinators are stopped.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "groups/book.hpp"
#include "tests/coordinator/member_process.hpp"
#include "tests/coordinator/servers/shared_groups_fixture.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using groups::Group;

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

struct SharedGroupsOverThree : SharedGroups {
  void SetUp() override { begin(kMembers, kLongMs); }
  static constexpr std::size_t kMembers = 3;  // of etcd
};

// Each of them once, so that it is the leader once.
TEST_F(SharedGroupsOverThree, WithoutOneMemberOfEtcdARankChangesHands) {
  std::optional<MemberProcess> spare;
  std::optional<MemberProcess>* holds = &second;
  std::optional<MemberProcess>* stands_by = &spare;
  for (std::size_t member = 0; member < kMembers; ++member) {
    stands_by->emplace(a->daemon.address(), kStandby);
    etcd->kill(member);
    (*holds)->kill();
    const groups::Term term = 2 + member;
    (*stands_by)->runs(term, 1);
    first->runs(term, 0);
    for (const Server* server : {&*a, &*b}) {
      EXPECT_TRUE(server->sees([&](const Group& group) { return runs_in(group, term); }));
    }
    etcd->start(member);
    std::swap(holds, stands_by);
  }
}

struct SharedGroupsOfShortLives : SharedGroups {
  void SetUp() override { begin(1, "6000"); }
};

TEST_F(SharedGroupsOfShortLives, AServerThatDiesIsFollowedByAStandbyOfAnother) {
  MemberProcess spare(a->daemon.address(), kStandby);
  b->daemon.kill();
  second->kill();
  spare.runs(2, 1);
  first->runs(2, 0);
  EXPECT_TRUE(a->sees([&](const Group& group) { return !group.members.contains(second->id); }));
}

TEST_F(SharedGroupsOfShortLives, AServerThatIsStoppedIsReplacedAndHearsOfItWhenItGoesOn) {
  MemberProcess spare(a->daemon.address(), kStandby);
  b->daemon.process().stop();  // its coordinator: its member runs on, in the former term
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
