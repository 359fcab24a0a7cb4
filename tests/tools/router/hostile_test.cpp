// SPDX-License-Identifier: Apache-2.0
// Clients that do what they should not: named, bounded, and no other stream notices.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>

#include "base/unique_fd.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/tools/router/live.hpp"
#include "tools/access/tokens.hpp"

namespace aqua::router::test {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

// Bytes to the router and back, for what no client would send.
class RawClient {
 public:
  explicit RawClient(const std::string& url, int receive_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes > 0)
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  // False once the router has heard enough.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  [[nodiscard]] std::string receive() const {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::recv(fd_.get(), buffer, sizeof buffer, 0)) > 0;)
      text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }
  void close() { fd_.reset(); }

 private:
  UniqueFd fd_;
};

long memory_kib(const RouterProcess& router) {
  std::ifstream file("/proc/" + std::to_string(router.child.pid()) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6));
  }
  return -1;
}

class HostileClient : public ::testing::Test {
 protected:
  const EngineProcess engine_{{"--speed", "40"}};
  const RouterProcess router_{{engine_.url()}, {"--max-body", "65536", "--max-behind", "2000"}};
  const std::string head_ =
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

  [[nodiscard]] std::string round_trip(const std::string& text) const {
    const RawClient client(router_.url());
    client.send(text);
    return client.receive();
  }
  void expect_others_undisturbed() const {
    EXPECT_EQ(ask(router_.url(), request_of(some_prompt(1, 9), 1, 20)),
              expected_answer(some_prompt(1, 9), 1, 20));
  }
};

TEST_F(HostileClient, BodiesThatAreTooLargeAreRefusedUnread) {
  const long before = memory_kib(router_);
  const RawClient client(router_.url());
  client.send(head_ + "Content-Length: 1000000000\r\n\r\n");
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(round_trip(head_ + "Transfer-Encoding: chunked\r\n\r\n"), StartsWith("HTTP/1.1 411"));
  EXPECT_THAT(round_trip(head_ + "Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n"),
              StartsWith("HTTP/1.1 415"));
  EXPECT_LT(memory_kib(router_) - before, 32 << 10);
  expect_others_undisturbed();
}

TEST_F(HostileClient, HeadsWithoutEndEndTheConnection) {
  const long before = memory_kib(router_);
  const RawClient client(router_.url());
  client.send("GET /healthz HTTP/1.1\r\n");
  bool heard = true;
  for (int i = 0; i < 1'000'000 && heard; ++i)
    heard = client.send("a" + std::to_string(i) + ": b\r\n");
  EXPECT_FALSE(heard);
  EXPECT_LT(memory_kib(router_) - before, 32 << 10);
  expect_others_undisturbed();
}

TEST_F(HostileClient, StrangeHeadsAreAnsweredOrClosed) {
  for (const std::string& text :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        "GET /" + std::string(5000, 'a') + " HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nRange: bytes=" + std::string(8000, '0') + "-\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nRange: bytes=0-" +
            [] {
              std::string many;
              for (int i = 0; i < 2000; ++i) many += ",1-2";
              return many;
            }() +
            "\r\n\r\n",
        std::string("POST /admin/v1/engines/../drain HTTP/1.1\r\nContent-Length: 0\r\n\r\n")}) {
    const RawClient client(router_.url());
    client.send(text);
    client.send("GET /nowhere HTTP/1.1\r\nConnection: close\r\n\r\n");
    (void)client.receive();
  }
  expect_others_undisturbed();
}

TEST_F(HostileClient, RangesAreNotHeeded) {
  const std::string head = "GET /router.js HTTP/1.1\r\nConnection: close\r\n";
  const std::string whole = round_trip(head + "\r\n");
  ASSERT_THAT(whole, StartsWith("HTTP/1.1 200"));
  const std::string body = whole.substr(whole.find("\r\n\r\n"));
  for (const char* ranges : {"0-3", "9-", "0-,0-,0-,0-"}) {
    const std::string reply = round_trip(head + "Range: bytes=" + ranges + "\r\n\r\n");
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 200")) << ranges;
    EXPECT_THAT(reply, EndsWith(body)) << ranges;
  }
}

TEST_F(HostileClient, BodiesThatAreNoRequestAreNamed) {
  for (const char* body : {"", "{", "[]", "null", R"({"prompt":[[[[1]]]]})"})
    EXPECT_EQ(router_.order("/v1/completions", body), 400) << body;
  const std::string deep(30'000, '[');
  const std::string reply =
      round_trip(head_ + "Connection: close\r\nContent-Length: " + std::to_string(deep.size()) +
                 "\r\n\r\n" + deep);
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(ask(router_.url(), {{"prompt", "a"}, {"model", "other"}}).status, 404);
}

TEST_F(HostileClient, ThatVanishesIsNoticedBeforeTheFirstToken) {
  const std::string body = Json{
      {"prompt", some_prompt(1, 9)},
      {"max_tokens", 1'000'00},
      {"ignore_eos", true}}.dump();  // whole: nothing is written for long
  RawClient client(router_.url());
  client.send(head_ + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_TRUE(becomes([&] { return engine_.used() > 0; }));
  client.close();
  EXPECT_TRUE(becomes([&] { return engine_.used() == 0; }));
  EXPECT_TRUE(
      becomes([&] { return router_.metric("aqua_router_requests_total", "client_gone") == 1; }));
}

TEST_F(HostileClient, ThatReadsNothingIsEndedAtTheBound) {
  const std::string body = request_of(some_prompt(1, 9), 1, 300'000).dump();
  const RawClient client(router_.url(), 4096);
  client.send(head_ + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_TRUE(becomes([&] { return engine_.used() > 0; }));
  EXPECT_TRUE(becomes([&] { return engine_.used() == 0; })) << "the engine is told";
  expect_others_undisturbed();
}

TEST_F(HostileClient, APageOfAnotherSiteIsRefused) {
  EXPECT_THAT(round_trip("GET /admin/v1/requests HTTP/1.1\r\nOrigin: http://evil\r\n\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(round_trip("POST /v1/completions HTTP/1.1\r\nContent-Type: text/plain\r\n"
                         "Content-Length: 2\r\n\r\n{}"),
              StartsWith("HTTP/1.1 415"));
}

// A page's own name, made to lead here: its browser takes the router's for its site, and marks
// nothing.
TEST_F(HostileClient, APageWhoseNameLeadsHereIsRefused) {
  const auto look = [](const RouterProcess& router, const char* path, const std::string& host) {
    const RawClient client(router.url());
    client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: " + host +
                "\r\nConnection: close\r\n\r\n");
    return client.receive();
  };
  for (const char* path : {"/admin/v1/engines", "/admin/v1/requests", "/admin/v1/moves", "/metrics",
                           "/v1/models", "/nowhere"}) {
    for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example:8080",
                             "127.0.0.1.evil.example", "10.0.0.1"})
      EXPECT_THAT(look(router_, path, host), StartsWith("HTTP/1.1 421")) << path << host;
  }
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080"})
    EXPECT_THAT(look(router_, "/admin/v1/requests", host), StartsWith("HTTP/1.1 200")) << host;
  const RouterProcess open({engine_.url()}, {"--open"});
  EXPECT_THAT(look(open, "/admin/v1/requests", "here.example"), StartsWith("HTTP/1.1 200"));
}

TEST(Tokens, SayWhoMayDoWhat) {
  const aqua::testing::TempDir directory;
  const std::string file = directory.path() + "/tokens";
  const auto token = [&](access::Role role) {
    return access::issue_token(file, role, "of a test").value();
  };
  const std::string reader = token(access::Role::read_only), client = token(access::Role::engine);
  const EngineProcess engine({"--speed", "40"});
  const RouterProcess router({engine.url()}, {"--tokens", file, "--max-concurrent", "1"}, 0);
  const Json body = request_of(some_prompt(1, 9), 1, 20);
  EXPECT_TRUE(becomes([&] { return ask(router.url(), body, "/v1/completions", {}, client).done; }))
      << "once the engine is up";
  EXPECT_EQ(ask(router.url(), body).status, 401);
  EXPECT_EQ(ask(router.url(), body, "/v1/completions", {}, "aqua_" + std::string(64, 'a')).status,
            401);
  EXPECT_EQ(ask(router.url(), body, "/v1/completions", {}, reader).status, 403);
  EXPECT_EQ(ask(router.url(), Json{{"to", "a"}}, "/admin/v1/requests/x/move", {}, client).status,
            403);
  int second = 0;
  Answer first;
  EXPECT_TRUE(becomes([&] {
    first = ask(
        router.url(), request_of(some_prompt(1, 9), 1, 400), "/v1/completions",
        [&](const Answer&) {
          if (second == 0) second = ask(router.url(), body, "/v1/completions", {}, client).status;
          return true;
        },
        client);
    return first.done;
  })) << "once the one before it is over on the router's side too";
  EXPECT_EQ(second, 429);
}

}  // namespace
}  // namespace aqua::router::test
