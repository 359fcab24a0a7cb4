// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/acceptor.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <utility>
#include <vector>

#include "tests/base/temp_dir.hpp"

namespace aqua::coordinator {
namespace {

using Progress = Acceptor::Progress;

struct AcceptorTest : ::testing::Test {
  AcceptorTest() {
    address.sun_family = AF_UNIX;
    const std::string path = dir / "socket";
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    listener = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    EXPECT_EQ(::listen(listener.get(), 16), 0);
  }
  void start(const AcceptorLimits& limits) {
    auto started = Acceptor::start(std::move(listener), limits, nullptr, [this](auto arrival) {
      arrived.set_value({arrival.text, arrival.progress});
    });
    ASSERT_TRUE(started.ok()) << started.error().message;
    acceptor = *std::move(started);
  }
  UniqueFd connection() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  UniqueFd client(const std::string& text) {
    UniqueFd fd = connection();
    EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    return fd;
  }
  // Waits for the other side to close, without a word.
  static void expect_closed(const UniqueFd& fd) {
    char byte;
    EXPECT_LE(::recv(fd.get(), &byte, 1, 0), 0);
  }

  testing::TempDir dir;
  sockaddr_un address{};
  UniqueFd listener;
  std::promise<std::pair<std::string, Progress>> arrived;  // by one connection
  std::unique_ptr<Acceptor> acceptor;
};

TEST_F(AcceptorTest, OfUnfinishedHeadsBeyondTheirRoomTheLongestIsClosed) {
  start({.pending_bytes = 10'000, .head_timeout = std::chrono::minutes{10}});
  const UniqueFd shorter = client("GET /first");
  const UniqueFd longest = client("GET /" + std::string(6'000, 'a'));
  const UniqueFd last = client("GET /" + std::string(5'000, 'b'));
  expect_closed(longest);
  // Its bytes are free again: these three have room.
  const UniqueFd another = client("GET /" + std::string(4'000, 'c'));
  ASSERT_GT(::send(shorter.get(), " HTTP/1.1\r\n\r\n", 13, MSG_NOSIGNAL), 0);
  const auto [text, progress] = arrived.get_future().get();
  EXPECT_EQ(progress, Progress::head);
  EXPECT_TRUE(text.starts_with("GET /first HTTP/1.1")) << text;
}

TEST_F(AcceptorTest, WhoSaidNothingInTimeIsClosedAndOnlyABeginningIsHandedOver) {
  // Both have connected, and one has begun, before the time runs.
  const UniqueFd silent = client("");
  const UniqueFd begun = client("GET / ");
  start({.head_timeout = std::chrono::milliseconds{1}});
  expect_closed(silent);
  const auto [text, progress] = arrived.get_future().get();
  EXPECT_EQ(progress, Progress::timed_out);
  EXPECT_EQ(text, "GET / ");
}

TEST_F(AcceptorTest, WhoConnectsTooOftenHoldsUpNoOtherProcess) {
  // Forked before there are threads; connects when told to.
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    char byte;
    if (::read(go[0], &byte, 1) != 1) ::_exit(1);
    const UniqueFd fd = client("GET /other HTTP/1.1\r\n\r\n");
    ::_exit(::recv(fd.get(), &byte, 1, 0) == 0 ? 0 : 2);
  }
  std::promise<void> came;
  auto started = Acceptor::start(std::move(listener),
                                 {.head_timeout = std::chrono::minutes{10}, .process_rate = 1},
                                 nullptr, [&came](const Acceptor::Arrival& arrival) {
                                   if (arrival.text.starts_with("GET /other")) came.set_value();
                                 });
  ASSERT_TRUE(started.ok()) << started.error().message;
  // One of them has its turn, and perhaps another where this machine is slow.
  std::vector<UniqueFd> flood;
  for (int i = 0; i < 12; ++i) {
    flood.push_back(connection());
    // The other side may have closed it already.
    (void)::send(flood.back().get(), "GET /flood", 10, MSG_NOSIGNAL);
  }
  expect_closed(flood.back());
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  came.get_future().wait();
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace aqua::coordinator
