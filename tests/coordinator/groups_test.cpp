// SPDX-License-Identifier: Apache-2.0
// Groups of real processes around a real coordinator: members killed and stopped, the coordinator
// killed meanwhile, and nothing left over at the end.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>

#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/member_process.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using groups::Group;
using groups::State;

using Member = MemberProcess;

struct GroupProcesses : ::testing::Test {
  explicit GroupProcesses(std::vector<std::string> arguments = {}) : daemon(std::move(arguments)) {}
  void begin() {
    first = std::make_unique<Member>(daemon.address(), 0);
    second = std::make_unique<Member>(daemon.address(), 1);
    first->runs(1, 0);
    second->runs(1, 1);
  }
  std::unique_ptr<Member> stand_by() {
    return std::make_unique<Member>(daemon.address(), kStandby);
  }
  [[nodiscard]] Group group() const {
    const auto all = admin::fetch_groups(daemon.address());
    EXPECT_TRUE(all.ok() && all->groups.size() == 1);
    return all.ok() && !all->groups.empty() ? all->groups[0] : Group{};
  }
  template <typename Is>
  [[nodiscard]] bool becomes(Is&& is) const {
    return eventually([&] {
      const auto all = admin::fetch_groups(daemon.address());
      return all.ok() && all->groups.size() == 1 && is(all->groups[0]);
    });
  }
  [[nodiscard]] bool silent(const Member& member, bool wanted) const {
    return becomes([&](const Group& seen) {
      const auto row = seen.members.find(member.id);
      return row != seen.members.end() && row->second.silent == wanted;
    });
  }

  DaemonProcess daemon;
  std::unique_ptr<Member> first, second;
};
struct ShortGroupProcesses : GroupProcesses {
  ShortGroupProcesses() : GroupProcesses({"--client-ttl", "300", "--lease-ttl", "300"}) {}
};

TEST_F(GroupProcesses, AKilledMembersRankIsTakenByTheStandbyUnderTheNextTerm) {
  begin();
  const auto spare = stand_by();
  second->kill();
  spare->runs(2, 1);
  first->runs(2, 0);
  EXPECT_EQ(group().state, State::running);
  EXPECT_FALSE(group().members.contains(second->id));
}

TEST_F(GroupProcesses, TwoDeathsTakeTwoStandbys) {
  begin();
  const auto one = stand_by();
  const auto other = stand_by();
  first->process.signal(SIGKILL);
  second->process.signal(SIGKILL);
  const auto ranks_of_both = [&](const Group& seen) {
    return seen.state == State::running && seen.term == 3 && seen.members.size() == 2 &&
           seen.members.contains(one->id) && seen.members.contains(other->id);
  };
  EXPECT_TRUE(becomes(ranks_of_both));
}

TEST_F(GroupProcesses, TheSuccessorMayDieWhileItRestores) {
  begin();
  const auto one = stand_by();
  second->kill();
  EXPECT_TRUE(becomes([](const Group& seen) { return seen.term == 2; }));
  one->kill();  // amid its recovery or after it
  const auto other = stand_by();
  other->runs(3, 1);
  first->runs(3, 0);
}

TEST_F(GroupProcesses, WithoutAStandbyTheGroupWaitsForANewcomer) {
  begin();
  second->kill();
  EXPECT_TRUE(becomes([](const Group& seen) { return seen.state == State::waiting; }));
  Member next(daemon.address(), 1);
  next.runs(2, 1);
  first->runs(2, 0);
}

TEST_F(ShortGroupProcesses, AMemberThatIsStoppedKeepsItsRankAndGoesOn) {
  begin();
  const auto spare = stand_by();
  second->process.signal(SIGSTOP);
  EXPECT_TRUE(silent(*second, true));
  EXPECT_EQ(group().term, 1U);
  EXPECT_EQ(group().state, State::running);
  second->process.signal(SIGCONT);
  EXPECT_TRUE(silent(*second, false));
  EXPECT_EQ(group().term, 1U);
}

TEST_F(ShortGroupProcesses, ARecoveryWaitsForAMemberThatIsStopped) {
  begin();
  const auto spare = stand_by();
  first->process.signal(SIGSTOP);
  EXPECT_TRUE(silent(*first, true));
  second->kill();
  EXPECT_TRUE(
      becomes([](const Group& seen) { return seen.state == State::sealing && seen.term == 2; }));
  first->process.signal(SIGCONT);
  first->runs(2, 0);
  spare->runs(2, 1);
}

TEST_F(ShortGroupProcesses, AStandbyThatIsStoppedIsTakenOnceItGoesOn) {
  begin();
  const auto spare = stand_by();
  spare->process.signal(SIGSTOP);
  EXPECT_TRUE(silent(*spare, true));
  second->kill();
  EXPECT_TRUE(becomes([](const Group& seen) { return seen.state == State::waiting; }));
  spare->process.signal(SIGCONT);
  spare->runs(2, 1);
}

TEST_F(GroupProcesses, ARestartOfTheCoordinatorDisturbsNobody) {
  begin();
  daemon.kill();
  daemon.start();
  EXPECT_TRUE(silent(*first, false));
  EXPECT_TRUE(silent(*second, false));
  EXPECT_EQ(group().term, 1U);
  EXPECT_EQ(group().state, State::running);
}

TEST_F(GroupProcesses, ADeathWhileTheCoordinatorIsAwayIsSeenWhenItIsBack) {
  begin();
  const auto spare = stand_by();
  daemon.kill();
  second->kill();
  daemon.start();
  spare->runs(2, 1);
  first->runs(2, 0);
}

TEST_F(GroupProcesses, LeaveNothingOver) {
  begin();
  const auto spare = stand_by();
  for (Member* each : {first.get(), second.get(), spare.get()}) each->kill();
  EXPECT_TRUE(eventually([&] {
    const auto all = admin::fetch_groups(daemon.address());
    return all.ok() && all->groups.empty();
  }));
}

TEST_F(GroupProcesses, AnOperatorEndsOne) {
  begin();
  ASSERT_TRUE(admin::end_group(daemon.address(), group().id).ok());
  EXPECT_TRUE(admin::fetch_groups(daemon.address())->groups.empty());
}

TEST_F(GroupProcesses, OtherShapesAndStrangersAreRefused) {
  begin();
  Peer peer(daemon.address(), "peer", false);
  const groups::Shape other{.model = "other", .dtype = "f16", .layout = "l"};
  const auto id = group().id;
  EXPECT_EQ(peer.client->join_group(id, {"peer", other, std::nullopt}).error().code,
            Code::failed_precondition);
  EXPECT_EQ(peer.client->create_group({"pipeline", {.prefill = {}, .decode = {2, 1}}, other, true})
                .error()
                .code,
            Code::failed_precondition);
  EXPECT_EQ(peer.client->acknowledge_term(id, {1, {}}).error().code, Code::not_found);
  EXPECT_EQ(peer.client->close_group(id).error().code, Code::permission_denied);
  EXPECT_EQ(group().members.size(), 2U);
}

TEST_F(GroupProcesses, ThatLeaveTheCoordinatorLeaveTheirGroups) {
  begin();
  Peer peer(daemon.address(), "peer", false);
  const groups::Shape shape{.model = "m", .dtype = "f16", .layout = "l"};
  ASSERT_TRUE(peer.client->join_group(group().id, {"peer", shape, std::nullopt}).ok());
  EXPECT_EQ(group().members.size(), 3U);
  peer.client->close();
  EXPECT_EQ(group().members.size(), 2U);
}

}  // namespace
}  // namespace aqua::testing
