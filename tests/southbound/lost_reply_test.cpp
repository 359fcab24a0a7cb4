// SPDX-License-Identifier: Apache-2.0
// A reply that is lost on the way: the grant is asked for once more under its key, and made once.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"
#include "wire/address.hpp"
#include "wire/problem.hpp"

namespace aqua::testing {
namespace {

UniqueFd unix_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

// Passes connections on to a daemon, and swallows the first reply to a request that begins so. With
// `refusal`, the second of these requests is answered so, with 503.
class Swallower {
 public:
  Swallower(const std::string& path, const std::string& daemon, std::string_view request,
            std::optional<Error> refusal = {})
      : daemon_(wire::parse_address(daemon).value()),
        request_(request),
        refusal_(std::move(refusal)),
        listener_(unix_socket()) {
    const wire::SocketAddress own = wire::socket_address({.path = path, .host = {}, .port = 0});
    EXPECT_EQ(::bind(listener_.get(), own.get(), own.length), 0);
    EXPECT_EQ(::listen(listener_.get(), 64), 0);
    threads_.reserve(1024);
    threads_.emplace_back([this] { accept_all(); });
  }
  ~Swallower() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    threads_.front().join();  // adds no more
    for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
  }
  Swallower(const Swallower&) = delete;
  Swallower& operator=(const Swallower&) = delete;

  [[nodiscard]] int asked() const { return asked_; }

 private:
  void accept_all() {
    for (;;) {
      UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      threads_.emplace_back([this, fd = client.release()] { pass_on(UniqueFd(fd)); });
    }
  }
  void pass_on(UniqueFd client) {
    const UniqueFd server = unix_socket();
    const wire::SocketAddress target = wire::socket_address(daemon_);
    if (::connect(server.get(), target.get(), target.length) != 0) return;
    bool swallow = false;
    std::array<char, 4096> bytes{};
    for (;;) {
      pollfd fds[] = {{client.get(), POLLIN, 0}, {server.get(), POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0) continue;
      const bool asks = fds[0].revents != 0;
      const ssize_t n = ::read(asks ? client.get() : server.get(), bytes.data(), bytes.size());
      if (n <= 0) return;
      const std::string_view text(bytes.data(), static_cast<std::size_t>(n));
      if (asks && text.starts_with(request_)) {
        swallow = ++asked_ == 1;
        if (!swallow && refusal_) return refuse(client, *refusal_);
      }
      if (!asks && swallow) return;  // the daemon has done it, and nobody hears of it
      if (::send(asks ? server.get() : client.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0)
        return;
    }
  }

  static void refuse(const UniqueFd& client, const Error& error) {
    const std::string body = wire::encode(wire::Problem{Epoch{}, 503, error});
    const std::string reply = concat(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
    EXPECT_EQ(::send(client.get(), reply.data(), reply.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(reply.size()));
  }

  const wire::Address daemon_;
  const std::string_view request_;
  const std::optional<Error> refusal_;
  const UniqueFd listener_;
  std::atomic<int> asked_ = 0;
  std::vector<std::thread> threads_;
};

TEST(LostReply, GrantIsAskedForAgainAndMadeOnce) {
  DaemonProcess daemon;
  TempDir dir;
  const std::string path = dir / "between.sock";
  Swallower between(path, daemon.address(), "POST /v1/leases HTTP");
  Peer producer(daemon.address(), "producer", true);
  ASSERT_TRUE(producer.client->offer(some_slabs(4)).ok());
  Peer consumer("unix:" + path, "consumer", false);
  const auto grants = consumer.client->lease(kSlabBytes, 4 * kSlabBytes);
  ASSERT_TRUE(grants.ok()) << grants.error().message;
  EXPECT_EQ(grants->size(), 1U);
  EXPECT_EQ(between.asked(), 2);
  const auto held = consumer.client->snapshot();
  ASSERT_TRUE(held.ok());
  ASSERT_EQ(held->held.size(), 1U);
  EXPECT_EQ(held->held[0].grant.secret, grants->front().secret);
  consumer.client->close();
}

TEST(LostReply, GrantIsFoundInASnapshotWhereTheSecondRequestIsRefused) {
  DaemonProcess daemon;
  TempDir dir;
  const std::string path = dir / "between.sock";
  Swallower between(path, daemon.address(), "POST /v1/leases HTTP",
                    Error{Code::unavailable, "no memory"});
  Peer producer(daemon.address(), "producer", true);
  ASSERT_TRUE(producer.client->offer(some_slabs(4)).ok());
  Peer consumer("unix:" + path, "consumer", false);
  const auto grants = consumer.client->lease(kSlabBytes, 4 * kSlabBytes);
  ASSERT_FALSE(grants.ok());
  EXPECT_EQ(grants.error().message, "no memory");
  ASSERT_TRUE(consumer.heard.wait_snapshots(2));
  EXPECT_EQ(consumer.heard.snapshots().back().held.size(), 1U);
  consumer.client->close();
}

}  // namespace
}  // namespace aqua::testing
