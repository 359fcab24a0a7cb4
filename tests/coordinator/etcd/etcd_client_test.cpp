// SPDX-License-Identifier: Apache-2.0
// The client against etcd itself, of one member and of three, with and without TLS and passwords.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "coordinator/etcd/client.hpp"
#include "tests/coordinator/etcd/etcd_cluster.hpp"
#include "tests/coordinator/http/tls_daemon.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/curl/call.hpp"

namespace aqua::coordinator::etcd {
namespace {

using aqua::testing::EtcdCluster;
using std::chrono::seconds;
using ::testing::HasSubstr;

struct EtcdClient : ::testing::Test {
  void SetUp() override {
    if (aqua::testing::etcd_program().empty()) GTEST_SKIP() << "no etcd here: scripts/setup check";
  }
  static EtcdOptions options_of(const EtcdCluster& cluster, std::size_t members) {
    EtcdOptions options;
    for (std::size_t i = 0; i < members; ++i) options.members.push_back(cluster.url(i));
    return options;
  }
};

Transaction put(const std::string& key, const std::string& value, Revision modified,
                LeaseId lease = 0) {
  return {.when = {{key, modified}}, .puts = {{key, value, lease}}};
}

TEST_F(EtcdClient, ComparesAndSwaps) {
  const EtcdCluster cluster(1);
  Client client(options_of(cluster, 1), {});
  const auto made = client.commit(put("/k/a", "one", 0));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(made->done);
  const auto again = client.commit(put("/k/a", "two", 0));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->done);
  const auto changed = client.commit(put("/k/a", std::string("t\0\xff", 3), made->revision));
  ASSERT_TRUE(changed.ok() && changed->done);
  ASSERT_TRUE(client.commit(put("/k0", "no such prefix", 0))->done);
  ASSERT_TRUE(client.commit(put("/k/0", "first", 0))->done);
  const auto rows = client.range("/k/");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->rows.size(), 2U);
  EXPECT_EQ(rows->rows[0].key, "/k/0");
  EXPECT_EQ(rows->rows[1].value, std::string("t\0\xff", 3));
  EXPECT_EQ(rows->rows[1].modified, changed->revision);
}

TEST_F(EtcdClient, WhatIsPutWithALeaseEndsWithIt) {
  const EtcdCluster cluster(1);
  Client client(options_of(cluster, 1), {});
  const auto lease = client.grant(seconds{60});
  ASSERT_TRUE(lease.ok()) << lease.error().message;
  ASSERT_TRUE(client.commit(put("/k/a", "one", 0, *lease))->done);
  EXPECT_TRUE(*client.keep(*lease));
  ASSERT_TRUE(client.revoke(*lease).ok());
  EXPECT_TRUE(client.range("/k/")->rows.empty());
  EXPECT_FALSE(*client.keep(*lease));
  EXPECT_EQ(client.revoke(*lease).error().code, Code::not_found);
  EXPECT_EQ(client.commit(put("/k/a", "two", 0, *lease)).error().code, Code::not_found);
}

TEST_F(EtcdClient, ALeaseThatNobodyKeepsRunsOut) {
  const EtcdCluster cluster(1);
  Client client(options_of(cluster, 1), {});
  const auto lease = client.grant(seconds{1});
  ASSERT_TRUE(client.commit(put("/k/a", "one", 0, *lease))->done);
  EXPECT_TRUE(aqua::testing::eventually([&] { return client.range("/k/")->rows.empty(); }));
  EXPECT_FALSE(*client.keep(*lease));
}

TEST_F(EtcdClient, AMemberThatIsDeadIsPassedOver) {
  EtcdCluster cluster(3);
  Client client(options_of(cluster, 3), {});
  ASSERT_TRUE(client.commit(put("/k/a", "one", 0))->done);
  cluster.kill(0);
  // Its successor as leader has to be chosen first, if it was that.
  ASSERT_TRUE(aqua::testing::eventually([&] { return client.range("/k/").ok(); }));
  EXPECT_EQ(client.range("/k/")->rows.size(), 1U);
}

TEST_F(EtcdClient, WithoutAQuorumNothingIsAnsweredUntilThereIsOne) {
  EtcdCluster cluster(3);
  EtcdOptions options = options_of(cluster, 3);
  options.timeout = std::chrono::milliseconds{300};
  Client client(options, {});
  ASSERT_TRUE(client.commit(put("/k/a", "one", 0))->done);
  cluster.kill(0);
  cluster.kill(1);
  EXPECT_EQ(client.commit(put("/k/b", "lost?", 0)).error().code, Code::unavailable);
  EXPECT_EQ(client.range("/k/").error().code, Code::unavailable);
  cluster.start(0);
  EXPECT_TRUE(aqua::testing::eventually([&] { return client.range("/k/").ok(); }));
}

TEST_F(EtcdClient, AStopEndsACallThatIsNotAnswered) {
  EtcdCluster cluster(1);
  EtcdOptions options = options_of(cluster, 1);
  options.timeout = seconds{600};
  cluster.member(0).stop();
  std::stop_source stop;
  Client client(options, stop.get_token());
  std::thread stopper([&] { stop.request_stop(); });
  const auto asked = client.range("/k/");
  stopper.join();
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().code, Code::cancelled);
}

TEST_F(EtcdClient, SpeaksTlsToAMemberThatItsAuthorityKnows) {
  const aqua::testing::Certificate certificate;
  const EtcdCluster cluster(1, certificate.path, certificate.key);
  EtcdOptions options = options_of(cluster, 1);
  options.authority = certificate.path;
  ASSERT_TRUE(Client(options, {}).commit(put("/k/a", "one", 0))->done);
  const aqua::testing::Certificate another;
  options.authority = another.path;
  const auto refused = Client(options, {}).range("/k/");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::failed_precondition);
  EXPECT_THAT(refused.error().message, HasSubstr("--etcd-authority"));
}

// Asks as nobody, before there are users.
void set_up(const std::string& member, const std::string& path, const std::string& body) {
  const auto done =
      curl::call({.method = "POST", .url = member + "/v3/auth/" + path, .body = body});
  ASSERT_TRUE(done.reply) << done.error.message;
  EXPECT_EQ(done.reply->status, 200) << done.reply->body;
}

TEST_F(EtcdClient, SaysWhoItIsWithAPassword) {
  const EtcdCluster cluster(1);
  const std::string& member = cluster.url(0);
  set_up(member, "user/add", R"({"name":"root","password":"secret"})");
  set_up(member, "user/grant", R"({"user":"root","role":"root"})");
  set_up(member, "enable", "{}");
  const aqua::testing::TempDir dir;
  const std::string file = dir / "password";
  std::ofstream(file) << "secret\n";
  EtcdOptions options = options_of(cluster, 1);
  EXPECT_EQ(Client(options, {}).range("/k/").error().code, Code::permission_denied);
  options.user = "root";
  options.password_file = file;
  Client client(options, {});
  EXPECT_TRUE(client.commit(put("/k/a", "one", 0))->done);
  EXPECT_EQ(client.range("/k/")->rows.size(), 1U);
  std::ofstream(file) << "wrong\n";
  const auto refused = Client(options, {}).range("/k/");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::permission_denied);
  options.password_file = dir / "none";
  EXPECT_EQ(Client(options, {}).range("/k/").error().code, Code::not_found);
}

}  // namespace
}  // namespace aqua::coordinator::etcd
