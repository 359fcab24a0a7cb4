// SPDX-License-Identifier: Apache-2.0
// A stranger's list: other people's sockets, forged and replayed messages, connections that
// never end. Each gets nothing, and those who behave go on.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/socket/unix_socket.hpp"
#include "tests/coordinator/raw_http.hpp"
#include "tests/coordinator/raw_session.hpp"
#include "tests/southbound/peers.hpp"

namespace aqua::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;

// A folder that every user may enter, with a daemon's sockets in it.
struct OpenFolder {
  OpenFolder() { EXPECT_EQ(::chmod(dir.path().c_str(), 0755), 0); }
  [[nodiscard]] std::vector<std::string> arguments(std::vector<std::string> more) const {
    std::vector<std::string> all{"--listen", "unix:" + http, "--lifeline", lifeline};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  TempDir dir;
  const std::string http = dir / "http.sock";
  const std::string lifeline = dir / "lifeline.sock";
};

// What `text` is answered when user and group `id` send it; "" when they cannot connect.
std::string exchange_as(uid_t user, gid_t group, const std::string& path, const std::string& text,
                        int type = SOCK_STREAM) {
  int pipe_ends[2];
  EXPECT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  UniqueFd from(pipe_ends[0]);
  UniqueFd to(pipe_ends[1]);
  const wire::SocketAddress target = wire::socket_address({.path = path, .host = {}, .port = 0});
  const pid_t child = ::fork();
  if (child == 0) {  // only system calls from here on
    if (::setgroups(0, nullptr) != 0 || ::setresgid(group, group, group) != 0 ||
        ::setresuid(user, user, user) != 0) {
      ::_exit(1);
    }
    const int fd = ::socket(AF_UNIX, type, 0);
    if (::connect(fd, target.get(), target.length) != 0) ::_exit(2);
    char buffer[4096];
    if (!text.empty()) (void)!::write(fd, text.data(), text.size());
    for (;;) {
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n <= 0) ::_exit(0);
      (void)!::write(to.get(), buffer, static_cast<std::size_t>(n));
      if (type != SOCK_STREAM) ::_exit(0);
    }
  }
  to.reset();
  std::string answer;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(from.get(), buffer, sizeof buffer)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(n));
  (void)::waitpid(child, nullptr, 0);
  return answer;
}

struct OtherUser : ::testing::Test {
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  }
  OpenFolder folder;
  const std::string state = "GET /v1/state HTTP/1.1\r\n\r\n";
  const std::string set_pair =
      "PUT /v1/pairs HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
};

TEST_F(OtherUser, CannotOpenTheSocketThatThereIsByDefault) {
  DaemonProcess daemon(folder.arguments({}));
  EXPECT_EQ(exchange_as(kNobody, kNobody, folder.http, state), "");
  EXPECT_EQ(exchange_as(kNobody, kNobody, folder.lifeline, "{}", SOCK_SEQPACKET), "");
}

TEST_F(OtherUser, IsRefusedByTheKernelsWordWhereTheFileLetsHimIn) {
  DaemonProcess daemon(folder.arguments({"--socket-mode", "666"}));
  EXPECT_THAT(exchange_as(kNobody, kNobody, folder.http, state), HasSubstr("HTTP/1.1 403"));
  // Refused before it has said anything.
  EXPECT_THAT(exchange_as(kNobody, kNobody, folder.lifeline, "", SOCK_SEQPACKET),
              HasSubstr("permission_denied"));
}

TEST_F(OtherUser, IsAnEngineWhenAllowedAndNoOperator) {
  DaemonProcess daemon(folder.arguments({"--socket-mode", "666", "--allow-uid", "65534"}));
  EXPECT_THAT(exchange_as(kNobody, kNobody, folder.http, state), HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(exchange_as(kNobody, kNobody, folder.http, set_pair), HasSubstr("HTTP/1.1 403"));
}

TEST_F(OtherUser, CannotUseASecretThatIsNotHis) {
  DaemonProcess daemon(folder.arguments({"--socket-mode", "666", "--allow-uid", "65534"}));
  const RawSession session(daemon.address(), folder.lifeline);
  ASSERT_EQ(session.join().status, 200);
  const std::string stolen = "GET /v1/clients/self HTTP/1.1\r\nAqua-Session: " +
                             to_string(session.lifeline.welcome.secret) + "\r\n\r\n";
  EXPECT_THAT(exchange_as(kNobody, kNobody, folder.http, stolen), HasSubstr("HTTP/1.1 401"));
  EXPECT_THAT(exchange_as(0, 0, folder.http, stolen), HasSubstr("HTTP/1.1 200"));
}

TEST_F(OtherUser, ComesInByTheSocketsGroup) {
  constexpr uid_t kSomebody = 61234;
  constexpr gid_t kGroup = 61235;
  DaemonProcess daemon(folder.arguments({"--socket-group", std::to_string(kGroup)}));
  struct stat info {};
  ASSERT_EQ(::stat(folder.http.c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, kGroup);
  EXPECT_EQ(info.st_mode & 0777U, 0660U);
  EXPECT_THAT(exchange_as(kSomebody, kGroup, folder.http, state), HasSubstr("HTTP/1.1 200"));
  EXPECT_EQ(exchange_as(kSomebody, kNobody, folder.http, state), "");
}

TEST_F(OtherUser, ComesInByTheGroupOfTheStartAfterAReload) {
  constexpr uid_t kSomebody = 61234;
  constexpr gid_t kGroup = 61235;
  const std::string config = folder.dir / "c.toml";
  std::ofstream(config) << "socket-group = \"" << kGroup << "\"\n";
  DaemonProcess daemon(folder.arguments({"--config", config}));
  std::ofstream(config) << "socket-group = \"" << kGroup + 1 << "\"\n";
  daemon.process().signal(SIGHUP);
  ASSERT_TRUE(eventually([&] { return daemon.log().find("reloaded") != std::string::npos; }));
  EXPECT_THAT(daemon.log(), HasSubstr("socket-group takes effect with the next start only"));
  EXPECT_THAT(exchange_as(kSomebody, kGroup, folder.http, state), HasSubstr("HTTP/1.1 200"));
}

struct Forged : ::testing::Test {
  DaemonProcess daemon{{"--share-producers"}};
  Peer producer{daemon.address(), "producer", true};
  Peer holder{daemon.address(), "holder", false};
  Peer thief{daemon.address(), "thief", false};
};

TEST_F(Forged, LeaseOfAnotherIsNeitherReturnedNorScrubbed) {
  ASSERT_TRUE(producer.client->offer(some_slabs(1)).ok());
  const auto grants = holder.client->lease(kSlabBytes, kSlabBytes);
  ASSERT_TRUE(grants.ok());
  const ledger::Grant& grant = grants->front();
  const wire::Return forged{grant.slab, grant.generation};
  EXPECT_EQ(thief.client->give_back({&forged, 1})->front().error().code, Code::permission_denied);
  const wire::Return stale{grant.slab, grant.generation + 1};
  EXPECT_EQ(holder.client->give_back({&stale, 1})->front().error().code, Code::aborted);
  const wire::Scrub scrub{grant.slab.index, grant.generation, random_id<LeaseTag>()};
  EXPECT_EQ(thief.client->scrubbed({&scrub, 1})->front().error().code, Code::not_found);
  const auto reclaim = producer.client->reclaim(kSlabBytes, std::chrono::seconds{60});
  ASSERT_TRUE(reclaim.ok());
  EXPECT_EQ(thief.client->reclaim_status(reclaim->reclaim.id).error().code, Code::not_found);
  EXPECT_TRUE(thief.client->snapshot()->held.empty());
  const wire::Return true_one{grant.slab, grant.generation};
  EXPECT_TRUE(holder.client->give_back({&true_one, 1})->front().ok());
}

TEST_F(Forged, ReplayedReturnAndSessionAreWorthNothing) {
  ASSERT_TRUE(producer.client->offer(some_slabs(1)).ok());
  const auto grant = holder.client->lease(kSlabBytes, kSlabBytes)->front();
  const wire::Return once{grant.slab, grant.generation};
  ASSERT_TRUE(holder.client->give_back({&once, 1})->front().ok());
  const wire::Scrub scrub{grant.slab.index, grant.generation, random_id<LeaseTag>()};
  ASSERT_TRUE(producer.client->scrubbed({&scrub, 1})->front().ok());
  const auto next = thief.client->lease(kSlabBytes, kSlabBytes);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(holder.client->give_back({&once, 1})->front().error().code, Code::aborted);
  EXPECT_EQ(producer.client->scrubbed({&scrub, 1})->front().error().code, Code::aborted);
  EXPECT_EQ(thief.client->snapshot()->held.size(), 1U);
}

struct Connections : ::testing::Test, RawHttp {
  // Room for honest ones; this process is many.
  Connections() : RawHttp({"--max-connections", "10100", "--max-process-rate", "1000000"}) {}
};

TEST_F(Connections, HalfClosedOnesAreAnsweredOrEndedAtOnce) {
  const auto begin = steady_clock::now();
  UniqueFd whole = connect();
  send(whole, "GET /healthz HTTP/1.1\r\n\r\n");
  ::shutdown(whole.get(), SHUT_WR);
  EXPECT_THAT(receive(whole), HasSubstr("HTTP/1.1 200"));
  UniqueFd silent = connect();
  ::shutdown(silent.get(), SHUT_WR);
  EXPECT_EQ(receive(silent), "");
  const RawSession session(daemon.address(), daemon.lifeline());
  UniqueFd cut = connect();
  send(cut,
       "POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
       "Aqua-Session: " +
           to_string(session.lifeline.welcome.secret) + "\r\n\r\n{");
  ::shutdown(cut.get(), SHUT_WR);
  EXPECT_THAT(receive(cut), HasSubstr("HTTP/1.1 400"));
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds{4});  // slow ones have five
}

TEST_F(Connections, TenThousandIdleOnesCostNoThreadAndHoldUpNobody) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::size_t wanted = std::min<std::size_t>(10'000, limit.rlim_max - 200);
  const long before = status_number("VmRSS");
  std::vector<UniqueFd> idle;
  for (std::size_t i = 0; i < wanted; ++i) {
    idle.push_back(connect());
    if (i % 2 == 0) send(idle.back(), "GET /healthz HTT");  // some begin and never end
  }
  const auto begin = steady_clock::now();
  const std::string reply = round_trip("GET /healthz HTTP/1.1\r\n\r\n");
  const auto took = std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
  EXPECT_THAT(reply, HasSubstr("HTTP/1.1 200"));
  EXPECT_LT(took, 4000);
  std::printf("%zu idle connections: a request took %.1f ms, %ld threads, %ld KiB more resident\n",
              wanted, took, status_number("Threads"), status_number("VmRSS") - before);
  EXPECT_LT(status_number("Threads"), 200);
  // Each gets its end, whoever began is told so, and the daemon has its descriptors back. All end
  // within moments of each other, and honest requests are answered beside them.
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::string end = receive(idle[i]);
    ASSERT_EQ(end.substr(0, 12), i % 2 == 0 ? "HTTP/1.1 408" : "") << i;
    if (i % 100 != 0) continue;
    EXPECT_THAT(round_trip("GET /v1/info HTTP/1.1\r\n\r\n"), HasSubstr("HTTP/1.1 200"));
  }
  EXPECT_THAT(round_trip("GET /healthz HTTP/1.1\r\n\r\n"), HasSubstr("HTTP/1.1 200"));
}

TEST(ConnectionsBeyondTheLimit, CloseTheOldest) {
  RawHttp http({"--max-connections", "16"});
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 64; ++i) idle.push_back(http.connect());
  EXPECT_THAT(http.round_trip("GET /healthz HTTP/1.1\r\n\r\n"), HasSubstr("HTTP/1.1 200"));
  pollfd first{idle.front().get(), POLLIN, 0};
  ASSERT_EQ(::poll(&first, 1, 4000), 1);
  EXPECT_EQ(RawHttp::receive(idle.front()), "");
  EXPECT_THAT(http.daemon.log(), HasSubstr("too many pending connections"));
}

}  // namespace
}  // namespace aqua::testing
