// SPDX-License-Identifier: Apache-2.0
// Probes of strangers, however many, hold up none but each other.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "coordinator/http/listener.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/in_memory.hpp"

namespace aqua::testing {
namespace {

using coordinator::Access;
using coordinator::Call;
using coordinator::HttpServer;
using coordinator::Lane;
using coordinator::Reply;

// A server whose probes end when the test says so.
struct Probes : ::testing::Test {
  Probes() {
    router.add({"GET", "/probe", Access::anybody,
                [this](const Call&) {
                  released.wait();
                  return Reply{};
                },
                Lane::probe});
    router.add(
        {"POST", "/renew", Access::anybody, [](const Call&) { return Reply{}; }, Lane::vital});
    auto listener = coordinator::listen_stream(address, {});
    EXPECT_TRUE(listener.ok()) << listener.error().message;
    EXPECT_TRUE(server.start(std::move(listener->fd)).ok());
  }
  [[nodiscard]] UniqueFd ask(std::string_view line) const {
    const wire::SocketAddress target = wire::socket_address(address);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), target.get(), target.length), 0);
    const std::string text = std::string(line) + " HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
    EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    return fd;
  }
  // The status of the reply; 0: closed without a word, or none came.
  static int answer_of(int fd) {
    pollfd answered{fd, POLLIN, 0};
    char text[512] = {};
    if (::poll(&answered, 1, 60'000) != 1 || ::recv(fd, text, sizeof text - 1, 0) <= 0) return 0;
    return status_of_reply(text);
  }

  TempDir dir;
  const wire::Address address = wire::parse_address("unix:" + (dir / "socket")).value();
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  coordinator::Metrics metrics{"test"};
  coordinator::HttpObserver observer{metrics};
  coordinator::Router router;
  coordinator::Sessions sessions;
  coordinator::TokenBook tokens{""};
  coordinator::Admission admission{router, sessions, tokens, {}};
  HttpServer server{{.max_threads = 2,
                     .reserved_threads = 1,
                     .probe_threads = 1,
                     .max_probes = 4,
                     .max_waiting = 4},
                    admission,
                    observer,
                    random_id<EpochTag>()};
};

TEST_F(Probes, ThatFillTheirQueueHoldUpNoRenewal) {
  std::vector<UniqueFd> probes;
  for (int i = 0; i < 50; ++i) probes.push_back(ask("GET /probe"));
  EXPECT_EQ(answer_of(ask("POST /renew").get()), 200);
  // One has a thread and four wait; the others are closed.
  std::vector<pollfd> open;
  for (const UniqueFd& probe : probes) open.push_back({probe.get(), POLLIN, 0});
  while (open.size() > 5) {
    const int ended = ::poll(open.data(), open.size(), 60'000);
    if (ended <= 0) break;
    std::erase_if(open, [](const pollfd& probe) { return probe.revents != 0; });
  }
  EXPECT_EQ(open.size(), 5U);
  release.set_value();
  for (const pollfd& probe : open) EXPECT_EQ(answer_of(probe.fd), 200);
}

}  // namespace
}  // namespace aqua::testing
