// SPDX-License-Identifier: Apache-2.0
// Calls with a limit of the whole, to a peer of the test's own that answers without end: in its
// head, in its body, or not at all.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/unique_fd.hpp"
#include "tests/loopback_socket.hpp"
#include "tools/http/http_client.hpp"

namespace aqua::http {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// The peer closes behind it, so that the next call is not to count on this connection.
constexpr const char* kGood = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";

// Answers each connection's first request by `begins`, and then by `drips` again and again; that of
// /good at once.
class DrippingPeer {
 public:
  explicit DrippingPeer(std::string begins = "", std::string drips = "")
      : begins_(std::move(begins)), drips_(std::move(drips)) {
    url_ = {.host = "127.0.0.1", .port = socket_.port};
    thread_ = std::thread([this] { accept_all(); });
  }
  ~DrippingPeer() {
    over_ = true;
    ::shutdown(socket_.fd.get(), SHUT_RDWR);
    thread_.join();
  }
  [[nodiscard]] const EngineUrl& url() const { return url_; }

 private:
  void accept_all() {
    while (!over_) {
      const UniqueFd one(::accept4(socket_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!one.valid()) return;
      answer(one.get());
    }
  }
  void answer(int one) const {
    char request[4096];
    const ssize_t n = ::recv(one, request, sizeof request, 0);
    if (n <= 0) return;
    if (std::string_view(request, static_cast<std::size_t>(n)).starts_with("GET /good "))
      return (void)sends(one, kGood);
    if (!sends(one, begins_)) return;
    if (drips_.empty()) {
      while (::recv(one, request, sizeof request, 0) > 0) continue;  // until it is cut
    } else {
      constexpr int kPace = 5;  // milliseconds
      pollfd cut{one, POLLRDHUP, 0};
      while (!over_ && sends(one, drips_) && ::poll(&cut, 1, kPace) == 0) continue;
    }
  }
  static bool sends(int one, const std::string& text) {
    return ::send(one, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }

  const std::string begins_, drips_;
  testing::LoopbackSocket socket_;
  EngineUrl url_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

struct Endless {
  const char* what;
  std::string begins, drips;
};

TEST(CallLimit, EndsWhateverHasNoEnd) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const Endless& one :
       {Endless{"silence", "", ""}, Endless{"a head", head, "a: b\r\n"},
        Endless{"a line of a head", head + "a: ", "b"},
        Endless{"a body", head + "Content-Length: 100000000\r\n\r\n", " "},
        Endless{"a body without a length", head + "\r\n", " "},
        Endless{"chunks", head + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"},
        Endless{"an error", "HTTP/1.1 503 No\r\nContent-Length: 100000000\r\n\r\n", " "}}) {
    for (const bool posts : {false, true}) {
      const DrippingPeer peer(one.begins, one.drips);
      HttpClient client(peer.url(), {.timeout = 30s, .whole = 200ms});
      const auto begun = Clock::now();
      const auto reply = posts ? client.post("/", "{}", [](auto, auto) { return Heard::something; })
                               : client.get("/");
      ASSERT_FALSE(reply.ok()) << one.what;
      EXPECT_EQ(reply.error().code, Code::deadline_exceeded) << one.what << reply.error().message;
      EXPECT_GE(Clock::now() - begun, 200ms) << one.what;
      EXPECT_LT(Clock::now() - begun, 20s) << one.what << ": not the time of silence";
    }
  }
}

TEST(CallLimit, IsThatOfEachCallAnew) {
  const DrippingPeer peer;
  HttpClient client(peer.url(), {.timeout = 30s, .whole = 2s});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.get("/").error().code, Code::deadline_exceeded) << i;
    const auto begun = Clock::now();
    const auto reply = client.get("/good");
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(reply->body, "{}");
    EXPECT_LT(Clock::now() - begun, 2s) << "it does not wait for its limit";
  }
}

TEST(CallLimit, AStopBeforeItIsAStop) {
  const DrippingPeer peer;
  HttpClient client(peer.url(), {.timeout = 30s, .whole = 30s});
  std::thread stopper([&] { client.stop(); });
  EXPECT_EQ(client.get("/").error().code, Code::cancelled);
  stopper.join();
}

}  // namespace
}  // namespace aqua::http
