// SPDX-License-Identifier: Apache-2.0
// Coordinators of several servers, real ones, that find each other in a real etcd: one stops, is
// killed, comes back, has another's name, and etcd itself is away.
#include "coordinator/servers/server_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>

#include "coordinator/etcd/client.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/etcd/etcd_cluster.hpp"
#include "tests/coordinator/raw_session.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Names = std::vector<std::string>;

struct Servers : ::testing::Test {
  void SetUp() override {
    if (etcd_program().empty()) GTEST_SKIP() << "no etcd here: scripts/setup check";
    etcd.emplace(1);
  }
  [[nodiscard]] std::vector<std::string> arguments(const std::string& name,
                                                   const std::string& ttl = "600000") const {
    return {"--etcd", etcd->urls(), "--server", name, "--server-ttl", ttl};
  }
  static Names names_at(const DaemonProcess& daemon) {
    Names names;
    const auto all = admin::fetch_servers(daemon.address());
    EXPECT_TRUE(all.ok()) << all.error().message;
    if (!all.ok()) return names;
    for (const wire::Server& server : all->servers) names.push_back(server.name);
    return names;
  }
  // It shows itself before it is told.
  static bool come_to_be(const DaemonProcess& daemon, const Names& names) {
    return eventually([&] { return names_at(daemon) == names && fault_at(daemon).empty(); });
  }
  static nlohmann::json ready(const DaemonProcess& daemon) {
    const auto reply = ask(daemon.address(), {"GET", "/readyz", {}, {}});
    EXPECT_EQ(reply.status, 200) << reply.body;
    return nlohmann::json::parse(reply.body);
  }
  // Why not all is known; "" where it is.
  static std::string fault_at(const DaemonProcess& daemon) {
    const auto all = admin::fetch_servers(daemon.address());
    return all.ok() ? all->fault : all.error().message;
  }
  static bool comes_to_say(const DaemonProcess& daemon, const std::string& what) {
    return eventually([&] { return fault_at(daemon).find(what) != std::string::npos; });
  }
  static bool comes_to_log(const DaemonProcess& daemon, const std::string& what) {
    return eventually([&] { return daemon.log().find(what) != std::string::npos; });
  }
  static bool comes_to_know(const DaemonProcess& daemon) {
    return eventually([&] { return fault_at(daemon).empty(); });
  }
  std::optional<EtcdCluster> etcd;
};

TEST_F(Servers, ServersThatShareAnEtcdKnowEachOther) {
  auto with_address = arguments("a", "3000");
  with_address.insert(with_address.end(), {"--advertise", "https://a.example:7071"});
  const DaemonProcess a(with_address), b(arguments("b", "3000"));
  ASSERT_TRUE(come_to_be(a, {"a", "b"}));
  ASSERT_TRUE(come_to_be(b, {"a", "b"}));
  Peer lender(a.address(), "lender", true);
  ASSERT_TRUE(lender.client->offer(some_slabs(4)).ok());
  ASSERT_TRUE(eventually([&] {
    const auto all = admin::fetch_servers(b.address());
    return all.ok() && all->servers.front().clients == 1 &&
           all->servers.front().lent_bytes == 4 * kSlabBytes;
  }));
  ASSERT_TRUE(comes_to_know(b));
  const auto all = admin::fetch_servers(b.address());
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(all->self, "b");
  EXPECT_TRUE(all->shared);
  EXPECT_EQ(all->servers.front().coordinator, "https://a.example:7071");
  EXPECT_TRUE(eventually([&] { return ready(b).at("warnings").empty(); }));
}

TEST_F(Servers, FiguresAreToldAmidOtherNews) {
  const DaemonProcess a(arguments("a", "3000"));
  ASSERT_TRUE(come_to_be(a, {"a"}));
  const Peer lender(a.address(), "lender", true);
  coordinator::etcd::Client client({.members = {etcd->url(0)}}, {});
  EXPECT_TRUE(eventually([&] {
    // News of others, far more often than a server tells of itself.
    EXPECT_TRUE(client.commit({.when = {}, .puts = {{"/aqua/other", "news", 0}}}).ok());
    const auto all = admin::fetch_servers(a.address());
    return all.ok() && all->servers.front().clients == 1;
  }));
}

TEST_F(Servers, OneThatStopsIsGoneAtOnce) {
  const DaemonProcess a(arguments("a", "3000"));
  DaemonProcess b(arguments("b"));  // which would be there for ten minutes
  ASSERT_TRUE(come_to_be(a, {"a", "b"}));
  ASSERT_TRUE(come_to_be(b, {"a", "b"}));  // and knows that it has no members of groups
  EXPECT_TRUE(comes_to_log(a, "a server is listed server=b\n")) << a.log();
  EXPECT_EQ(b.stop(), 0);
  EXPECT_TRUE(come_to_be(a, {"a"}));
  EXPECT_TRUE(comes_to_log(a, "a server is not listed any more server=b\n")) << a.log();
  EXPECT_THAT(a.log(), Not(HasSubstr("server=a\n"))) << "one does not tell itself of itself";
}

TEST_F(Servers, OneThatIsKilledIsGoneWhenItsLeaseRunsOut) {
  const DaemonProcess a(arguments("a", "3000"));
  DaemonProcess b(arguments("b", "2000"));
  ASSERT_TRUE(come_to_be(a, {"a", "b"}));
  b.kill();
  EXPECT_TRUE(come_to_be(a, {"a"}));
}

TEST_F(Servers, OneThatComesBackInTimeWasNeverAway) {
  DaemonProcess b(arguments("b"));
  ASSERT_TRUE(come_to_be(b, {"b"}));
  coordinator::etcd::Client client({.members = {etcd->url(0)}}, {});
  const auto revision_of_b = [&] {
    const auto rows = client.range("/aqua/servers/b");
    return rows.ok() && rows->rows.size() == 1 ? rows->rows.front().modified : 0;
  };
  const auto before = revision_of_b();
  ASSERT_GT(before, 0);
  b.kill();
  b.start();
  bool was_away = false;
  EXPECT_TRUE(eventually([&] {
    was_away = was_away || revision_of_b() == 0;
    return fault_at(b).empty();
  }));
  EXPECT_FALSE(was_away);
  EXPECT_GT(revision_of_b(), before) << "it is told under a lease of its own";
}

TEST_F(Servers, WhatItToldIsToldAgainWhereItIsGone) {
  const DaemonProcess a(arguments("a", "2000"));
  ASSERT_TRUE(come_to_be(a, {"a"}));
  coordinator::etcd::Client client({.members = {etcd->url(0)}}, {});
  ASSERT_TRUE(client.commit({.when = {}, .puts = {}, .deletes = {"/aqua/servers/a"}})->done);
  EXPECT_TRUE(eventually([&] {
    const auto rows = client.range("/aqua/servers/a");
    return rows.ok() && rows->rows.size() == 1;
  }));
  EXPECT_TRUE(comes_to_know(a));
}

TEST_F(Servers, ANameIsOneServers) {
  const DaemonProcess a(arguments("a"));
  ASSERT_TRUE(come_to_be(a, {"a"}));
  const DaemonProcess impostor(arguments("a", "2000"));
  EXPECT_TRUE(comes_to_say(impostor, "another coordinator is server \"a\""));
  EXPECT_FALSE(ready(impostor).at("warnings").empty());
  EXPECT_TRUE(comes_to_know(a));
}

TEST_F(Servers, WithoutEtcdAllElseGoesOn) {
  const DaemonProcess a(arguments("a", "2000"));
  ASSERT_TRUE(come_to_be(a, {"a"}));
  etcd->kill(0);
  EXPECT_TRUE(comes_to_say(a, etcd->url(0)));
  EXPECT_FALSE(ready(a).at("warnings").empty());
  EXPECT_THAT(names_at(a), ElementsAre("a")) << "as it was known last";
  Peer lender(a.address(), "lender", true);
  EXPECT_TRUE(lender.client->offer(some_slabs(1)).ok());
  etcd->start(0);
  EXPECT_TRUE(comes_to_know(a));
  EXPECT_THAT(names_at(a), ElementsAre("a"));
}

// A round comes every 200 s here, and news by a stream from the first member.
TEST_F(Servers, NewsComeFromAnotherMemberOfEtcdWhereOneDies) {
  etcd.emplace(3);
  const DaemonProcess a(arguments("a"));
  ASSERT_TRUE(comes_to_know(a));
  ASSERT_TRUE(eventually([&] {
    const auto all = admin::fetch_servers(a.address());
    return all.ok() && all->age > ledger::Time(std::chrono::milliseconds(500));
  })) << "nothing has called for a round of late";
  etcd->kill(0);
  const DaemonProcess b(arguments("b"));
  EXPECT_TRUE(come_to_be(a, {"a", "b"}));
}

// Other rounds come every 200 s here, and by news of what it has told itself, thrice at most.
TEST_F(Servers, ARoundThatHasNotDoneAllIsRepeatedSoon) {
  std::atomic<int> rounds = 0;
  coordinator::ServerDirectory directory(
      {.name = "a", .etcd = {.members = {etcd->url(0)}}, .ttl = std::chrono::seconds{600}},
      [] { return wire::Server{.name = "a"}; });
  directory.begin([&](const std::set<std::string>&) -> Result<void> {
    ++rounds;
    return Error{Code::unavailable, "no quorum"};
  });
  EXPECT_TRUE(eventually([&] { return rounds >= 6; }));
}

TEST_F(Servers, AKeyThatIsNotUnderstoodIsNamedAndLeftOut) {
  const DaemonProcess a(arguments("a", "2000"));
  ASSERT_TRUE(come_to_be(a, {"a"}));
  coordinator::etcd::Client client({.members = {etcd->url(0)}}, {});
  ASSERT_TRUE(client.commit({.when = {}, .puts = {{"/aqua/servers/odd", "{}", 0}}})->done);
  EXPECT_TRUE(comes_to_say(a, "/aqua/servers/odd"));
  EXPECT_THAT(names_at(a), ElementsAre("a"));
}

TEST_F(Servers, ItEndsWhileEtcdDoesNotAnswer) {
  DaemonProcess a(arguments("a"));
  ASSERT_TRUE(come_to_be(a, {"a"}));
  etcd->member(0).stop();
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(a.stop(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

TEST(ServersAlone, AreOne) {
  const DaemonProcess alone({"--server", "here"});
  const auto all = admin::fetch_servers(alone.address());
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_FALSE(all->shared);
  ASSERT_EQ(all->servers.size(), 1U);
  EXPECT_EQ(all->servers.front().name, "here");
  EXPECT_EQ(all->self, "here");
}

TEST(ServerOptions, AreNamedWhereTheyCannotBe) {
  const auto complaint = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {AQUA_COORDINATOR_PROGRAM, "--check-config"});
    const TempDir dir;
    ChildProcess daemon(arguments, dir / "log");
    EXPECT_EQ(daemon.wait(), 2);
    std::ifstream log(dir / "log");
    return std::string(std::istreambuf_iterator<char>(log), std::istreambuf_iterator<char>());
  };
  EXPECT_THAT(complaint({"--etcd", "10.0.0.1:2379"}), HasSubstr("--etcd: address"));
  EXPECT_THAT(complaint({"--etcd", "http://a:1,"}), HasSubstr("--etcd: address"));
  EXPECT_THAT(complaint({"--server", "a/b"}), HasSubstr("--server"));
  EXPECT_THAT(complaint({"--server-ttl", "9"}), HasSubstr("--server-ttl"));
  EXPECT_THAT(complaint({"--etcd-user", "root"}), HasSubstr("--etcd-user goes with --etcd"));
  EXPECT_THAT(complaint({"--etcd", "http://a:1", "--etcd-user", "root"}),
              HasSubstr("--etcd-user and --etcd-password go together"));
  EXPECT_THAT(complaint({"--advertise", "http://a:1"}), HasSubstr("https://HOST:PORT"));
  EXPECT_THAT(complaint({"--etcd", "http://a:1", "--etcd-user", "root", "--etcd-password", "/p"}),
              HasSubstr("give https://"));
  EXPECT_THAT(
      complaint({"--etcd", "https://a:1", "--etcd-user", "root", "--etcd-password", "/none"}),
      HasSubstr("/none"));
}

}  // namespace
}  // namespace aqua::testing
