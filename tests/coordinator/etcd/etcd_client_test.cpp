// SPDX-License-Identifier: Apache-2.0
// The client against etcd itself, of one member and of three, with and without TLS and passwords.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <fstream>
#include <thread>

#include "coordinator/etcd/base64.hpp"
#include "coordinator/etcd/client.hpp"
#include "tests/coordinator/etcd/etcd_cluster.hpp"
#include "tests/coordinator/http/tls_daemon.hpp"
#include "tests/loopback_socket.hpp"
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

TEST_F(EtcdClient, ComparesByValueWheneverItWasWritten) {
  const EtcdCluster cluster(1);
  Client client(options_of(cluster, 1), {});
  const auto by_value = [&](const std::string& value) {
    return client.commit({.when = {{"/k/a", 0, value}}, .deletes = {"/k/b"}});
  };
  EXPECT_FALSE(by_value("one")->done) << "there is no such key";
  ASSERT_TRUE(client.commit(put("/k/b", "two", 0)).ok());
  ASSERT_TRUE(client.commit(put("/k/a", "one", 0)).ok());
  EXPECT_FALSE(by_value("other")->done);
  EXPECT_EQ(client.range("/k/")->rows.size(), 2U);
  EXPECT_TRUE(by_value("one")->done);
  EXPECT_EQ(client.range("/k/")->rows.size(), 1U);
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
  EXPECT_TRUE(client.revoke(*lease).ok()) << "it has ended";
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
  ASSERT_TRUE(client.commit(put("/k/a", "one", 0)).ok());
  cluster.kill(0);
  // Its successor as leader has to be chosen first, if it was that.
  ASSERT_TRUE(aqua::testing::eventually([&] { return client.range("/k/").ok(); }));
  EXPECT_EQ(client.range("/k/")->rows.size(), 1U);
}

TEST_F(EtcdClient, WithoutAQuorumNothingIsAnsweredUntilThereIsOne) {
  EtcdCluster cluster(3);
  EtcdOptions options = options_of(cluster, 3);
  ASSERT_TRUE(Client(options, {}).commit(put("/k/a", "one", 0)).ok());
  options.timeout = std::chrono::milliseconds{300};
  Client client(options, {});
  cluster.kill(0);
  cluster.kill(1);
  EXPECT_EQ(client.commit(put("/k/b", "lost?", 0)).error().code, Code::unavailable);
  EXPECT_EQ(client.range("/k/").error().code, Code::unavailable);
  cluster.start(0);
  EXPECT_TRUE(aqua::testing::eventually([&] { return client.range("/k/").ok(); }));
}

TEST_F(EtcdClient, MembersThatWereBegunApartAreNamed) {
  const EtcdCluster cluster(1);
  EtcdCluster another(1);
  EtcdOptions options = options_of(cluster, 1);
  options.members.push_back(another.url(0));
  Client client(options, {});
  ASSERT_TRUE(client.range("/k/").ok());
  options.members = {another.url(0), cluster.url(0)};
  Client other(options, {});
  ASSERT_TRUE(other.range("/k/").ok());
  another.kill(0);
  const auto split = other.range("/k/");
  ASSERT_FALSE(split.ok());
  EXPECT_EQ(split.error().code, Code::failed_precondition);
  EXPECT_THAT(split.error().message, HasSubstr("another cluster"));
}

TEST_F(EtcdClient, ANewsStreamTellsOfEachChangeUntilItIsStopped) {
  const EtcdCluster cluster(1);
  std::stop_source stop;
  Client follower(options_of(cluster, 1), stop.get_token());
  Client writer(options_of(cluster, 1), {});
  std::atomic<int> heard = 0;
  std::thread thread([&] { follower.watch("/k/", [&] { ++heard; }); });
  EXPECT_TRUE(aqua::testing::eventually([&] { return heard >= 1; }));  // it has begun
  const int before = heard;
  EXPECT_TRUE(writer.commit(put("/other", "one", 0)).ok());
  EXPECT_TRUE(writer.commit(put("/k/a", "one", 0)).ok());
  EXPECT_TRUE(aqua::testing::eventually([&] { return heard > before; }));
  stop.request_stop();
  thread.join();
}

// Listens, and never answers.
TEST_F(EtcdClient, AStopEndsACallThatIsNotAnswered) {
  const aqua::testing::LoopbackSocket listener;
  EtcdOptions options;
  options.members = {"http://127.0.0.1:" + std::to_string(listener.port)};
  options.timeout = seconds{600};
  std::stop_source stop;
  Client client(options, stop.get_token());
  UniqueFd asked;  // open until the call has ended
  std::thread stopper([&] {
    asked.reset(::accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(asked.valid());
    std::array<char, 16> head{};
    EXPECT_GT(::recv(asked.get(), head.data(), head.size(), 0), 0);  // it waits for the answer now
    stop.request_stop();
  });
  const auto begun = std::chrono::steady_clock::now();
  const auto rows = client.range("/k/");
  stopper.join();
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().code, Code::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds{30});
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

// Asks as whom the token is of, or as nobody, before there are users. Returns the reply's body.
std::string set_up(const std::string& member, const std::string& path, const std::string& body,
                   const std::string& token = {}) {
  curl::Request request{.method = "POST", .url = member + "/v3/auth/" + path, .body = body};
  if (!token.empty()) request.headers = {"Authorization: " + token};
  const auto done = curl::call(request);
  EXPECT_TRUE(done.reply) << done.error.message;
  if (!done.reply) return "";
  EXPECT_EQ(done.reply->status, 200) << done.reply->body;
  return done.reply->body;
}

// A user with no more rights than docs/operate/servers.md gives it.
void set_up_users(const std::string& member) {
  set_up(member, "user/add", R"({"name":"root","password":"r"})");
  set_up(member, "user/grant", R"({"user":"root","role":"root"})");
  set_up(member, "role/add", R"({"name":"aqua"})");
  set_up(member, "role/grant",
         R"({"name":"aqua","perm":{"permType":"READWRITE","key":")" + to_base64("/aqua/") +
             R"(","range_end":")" + to_base64("/aqua0") + R"("}})");
  set_up(member, "user/add", R"({"name":"aqua","password":"secret"})");
  set_up(member, "user/grant", R"({"user":"aqua","role":"aqua"})");
  set_up(member, "enable", "{}");
}

void write_password(const std::string& file) {
  std::ofstream(file) << "secret\n";
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
}

TEST_F(EtcdClient, SaysWhoItIsWithAPassword) {
  const EtcdCluster cluster(1);
  set_up_users(cluster.url(0));
  const aqua::testing::TempDir dir;
  const std::string file = dir / "password";
  write_password(file);
  EtcdOptions options = options_of(cluster, 1);
  EXPECT_EQ(Client(options, {}).range("/aqua/").error().code, Code::permission_denied);
  options.user = "aqua";
  options.password_file = file;
  Client client(options, {});
  const auto lease = client.grant(seconds{60});
  ASSERT_TRUE(lease.ok()) << lease.error().message;
  const auto made = client.commit(put("/aqua/a", "one", 0, *lease));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(client.keep(*lease).ok());
  EXPECT_EQ(client.range("/aqua/")->rows.size(), 1U);
  EXPECT_TRUE(client.revoke(*lease).ok());
  EXPECT_EQ(client.range("/other/").error().code, Code::permission_denied);
  std::ofstream(file) << "wrong\n";
  EXPECT_EQ(Client(options, {}).range("/aqua/").error().code, Code::permission_denied);
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(Client(options, {}).range("/aqua/").error().code, Code::failed_precondition);
  options.password_file = dir / "none";
  EXPECT_EQ(Client(options, {}).range("/aqua/").error().code, Code::not_found);
}

// Follows until a change of the writer's is heard of.
void hears_of_a_change(Client& follower, Client& writer, std::stop_source& stop) {
  std::atomic<int> heard = 0;
  std::thread thread([&] {
    while (!stop.stop_requested()) follower.watch("/aqua/", [&] { ++heard; });
  });
  EXPECT_TRUE(aqua::testing::eventually([&] { return heard >= 1; }));  // it has begun
  const int before = heard;
  EXPECT_TRUE(writer.commit(put("/aqua/a", "one", 0)).ok());
  EXPECT_TRUE(aqua::testing::eventually([&] { return heard > before; }));
  stop.request_stop();
  thread.join();
}

TEST_F(EtcdClient, ANewsStreamOfAUserHasATokenWhateverWasAskedBefore) {
  const EtcdCluster cluster(1);
  const std::string member = cluster.url(0);
  set_up_users(member);
  const aqua::testing::TempDir dir;
  EtcdOptions options = options_of(cluster, 1);
  options.user = "aqua";
  options.password_file = dir / "password";
  write_password(options.password_file);
  for (const bool has_asked : {false, true}) {
    std::stop_source stop;
    Client follower(options, stop.get_token());
    Client writer(options, {});
    if (has_asked) {
      ASSERT_TRUE(writer.commit({.when = {}, .puts = {}, .deletes = {"/aqua/a"}})->done);
      ASSERT_TRUE(follower.range("/aqua/").ok());
      // etcd takes no token of a user whose password has been set since.
      const std::string root = set_up(member, "authenticate", R"({"name":"root","password":"r"})");
      set_up(member, "user/changepw", R"({"name":"aqua","password":"secret"})",
             parse_token(root).value());
    }
    hears_of_a_change(follower, writer, stop);
  }
}

// A token says up to which change etcd has to be, which this one is not for a long time.
TEST_F(EtcdClient, SignsInAgainWhereEtcdHasComeBackWithNothing) {
  EtcdCluster cluster(1);
  cluster.back_up(0);
  set_up_users(cluster.url(0));
  const aqua::testing::TempDir dir;
  EtcdOptions options = options_of(cluster, 1);
  options.user = "aqua";
  options.password_file = dir / "password";
  options.timeout = std::chrono::milliseconds{1000};
  write_password(options.password_file);
  Client client(options, {});
  Revision last = 0;
  for (int i = 0; i < 50; ++i) {
    const auto made = client.commit(put("/aqua/a", std::to_string(i), last));
    ASSERT_TRUE(made.ok() && made->done);
    last = made->revision;
  }
  cluster.restore(0);
  const auto without_users = Client(options, {}).range("/aqua/");
  ASSERT_FALSE(without_users.ok());
  EXPECT_THAT(without_users.error().message, HasSubstr("it has no users"));
  set_up_users(cluster.url(0));
  for (int late = 0; late < 2; ++late) {
    EXPECT_EQ(client.range("/aqua/").error().code, Code::unavailable) << "what this test is of";
  }
  const auto rows = client.range("/aqua/");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_TRUE(rows->rows.empty());
}

}  // namespace
}  // namespace aqua::coordinator::etcd
