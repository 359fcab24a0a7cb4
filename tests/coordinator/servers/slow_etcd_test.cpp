// SPDX-License-Identifier: Apache-2.0
// A real etcd that answers too late, or to which what was asked comes too late: a change may have
// been made though nobody said so, or is made when nobody waits for it any more. What is compared
// there keeps that from undoing what others have changed meanwhile.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/etcd/client.hpp"
#include "groups/book.hpp"
#include "tests/base/code_of.hpp"
#include "tests/coordinator/etcd/slow_proxy.hpp"
#include "tests/coordinator/servers/shared_groups_fixture.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using coordinator::etcd::Client;
using coordinator::etcd::Transaction;
using Holds = SlowProxy::Holds;

struct SlowEtcd : ::testing::Test {
  void SetUp() override {
    if (etcd_program().empty()) GTEST_SKIP() << "no etcd here: scripts/setup check";
    etcd.emplace(1);
    network.emplace(etcd->url(0));
    slow.emplace(options(network->url(), std::chrono::milliseconds(500)), std::stop_token());
    direct.emplace(options(etcd->url(0), std::chrono::seconds(60)), std::stop_token());
  }
  static coordinator::etcd::EtcdOptions options(const std::string& url,
                                                std::chrono::milliseconds timeout) {
    return {.members = {url}, .timeout = timeout};
  }
  // Where there is no such key.
  static Transaction create(const std::string& value) {
    return {.when = {{"/k/a", 0}}, .puts = {{"/k/a", value, 0}}};
  }
  std::string value() {
    const auto rows = direct->range("/k/");
    EXPECT_TRUE(rows.ok()) << rows.error().message;
    return rows.ok() && rows->rows.size() == 1 ? rows->rows[0].value : "";
  }

  std::optional<EtcdCluster> etcd;
  std::optional<SlowProxy> network;
  std::optional<Client> slow, direct;
};

TEST_F(SlowEtcd, AWriteWhoseAnswerIsLateHasBeenMadeAndIsNotMadeTwice) {
  network->hold(Holds::replies);
  EXPECT_EQ(code_of(slow->commit(create("one"))), "unavailable");
  EXPECT_TRUE(eventually([&] { return value() == "one"; }));
  network->hold(Holds::nothing);
  const auto again = direct->commit(create("two"));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_FALSE(again->done);
  EXPECT_EQ(value(), "one");
}

TEST_F(SlowEtcd, AWriteThatLandsLateUndoesNothing) {
  network->hold(Holds::requests);
  EXPECT_EQ(code_of(slow->commit(create("late"))), "unavailable");
  ASSERT_TRUE(eventually([&] { return network->given_up() == 1; }));
  ASSERT_TRUE(direct->commit(create("meanwhile"))->done);
  network->hold(Holds::nothing);
  ASSERT_TRUE(eventually([&] { return network->late() == 1; }));
  EXPECT_EQ(value(), "meanwhile");
}

TEST_F(SlowEtcd, AWriteThatLandsLateIsMadeWhereNobodyElseHasWritten) {
  network->hold(Holds::requests);
  EXPECT_EQ(code_of(slow->commit(create("late"))), "unavailable");
  ASSERT_TRUE(eventually([&] { return network->given_up() == 1; }));
  network->hold(Holds::nothing);
  ASSERT_TRUE(eventually([&] { return network->late() == 1; }));
  EXPECT_EQ(value(), "late");
}

TEST_F(SlowEtcd, ACoordinatorSaysSoAndIsKnownAgainWhenItAnswersInTime) {
  const DaemonProcess a({"--etcd", network->url(), "--server", "a", "--server-ttl", "3000"});
  const auto fault = [&] {
    const auto all = admin::fetch_servers(a.address());
    return all.ok() ? all->fault : all.error().message;
  };
  ASSERT_TRUE(eventually([&] { return fault().empty(); }));
  for (const Holds what : {Holds::requests, Holds::replies}) {
    network->hold(what);
    EXPECT_TRUE(eventually([&] { return !fault().empty(); }));
    network->hold(Holds::nothing);
    EXPECT_TRUE(eventually([&] { return fault().empty(); })) << fault();
  }
  const auto rows = direct->range("/aqua/servers/");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_EQ(rows->rows.size(), 1U);
}

// What a coordinator has to write of a member's death is held back, once it and once the answer.
class SlowGroup : public SharedGroups, public ::testing::WithParamInterface<Holds> {
 protected:
  void SetUp() override {
    if (etcd_program().empty()) GTEST_SKIP() << "no etcd here: scripts/setup check";
    etcd.emplace(1);
    network.emplace(etcd->url(0));
    a.emplace(etcd->url(0), "a", kLongMs);
    b.emplace(network->url(), "b", kLongMs);
    first.emplace(a->daemon.address(), 0);
    second.emplace(b->daemon.address(), 1);
    first->runs(1, 0);
    second->runs(1, 1);
  }
  std::optional<SlowProxy> network;
};
INSTANTIATE_TEST_SUITE_P(Of, SlowGroup, ::testing::Values(Holds::requests, Holds::replies),
                         [](const auto& what) {
                           return what.param == Holds::requests ? "Requests" : "Replies";
                         });

TEST_P(SlowGroup, ARankIsGivenAwayOnceWheneverTheWritesLand) {
  MemberProcess spare(a->daemon.address(), kStandby);
  network->hold(GetParam());
  second->kill();
  EXPECT_TRUE(eventually([&] { return network->given_up() != 0; }));
  network->hold(Holds::nothing);
  spare.runs(2, 1);
  first->runs(2, 0);
  for (const auto* server : {&*a, &*b}) {
    EXPECT_TRUE(server->sees([&](const groups::Group& group) {
      return runs_in(group, 2) && !group.members.contains(second->id);
    }));
  }
}

}  // namespace
}  // namespace aqua::testing
