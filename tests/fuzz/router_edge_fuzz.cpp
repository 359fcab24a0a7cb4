// SPDX-License-Identifier: Apache-2.0
// Any bytes on a connection to the router: each reply is HTTP with a known status, and never that
// of a bug. The first byte says which router hears them: one that is open to everybody, or one that
// wants a token, which nobody can know, and shows nothing without. No engine is behind them.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "tools/router/serve/server.hpp"

namespace {

using namespace aqua::router;

void require(bool holds) {
  if (!holds) std::abort();
}

struct World {
  explicit World(const std::string& tokens) {
    FleetOptions options;
    options.health = std::chrono::hours(1);  // port 1 is nobody's
    fleet = Fleet::open(options, {parse_engine("a=http://127.0.0.1:1").value()}).value();
    ServerOptions serving{.port = 0};
    serving.gate.tokens = tokens;
    serving.gate.quota = {.rate = 1'000'000, .concurrent = 1000};
    serving.gate.most_body = 4096;
    server = RouterServer::start(serving, *fleet, counters).value();
  }
  Counters counters;
  std::unique_ptr<Fleet> fleet;
  std::unique_ptr<RouterServer> server;
};

// What comes back on a connection on which these bytes are all that is said.
std::string answer_to(int port, std::string_view said) {
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require(client >= 0);
  sockaddr_in at{.sin_family = AF_INET, .sin_port = htons(static_cast<std::uint16_t>(port))};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  require(::connect(client, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  while (!said.empty()) {
    const ssize_t n = ::send(client, said.data(), said.size(), MSG_NOSIGNAL);
    if (n <= 0) break;  // it has heard enough
    said.remove_prefix(static_cast<std::size_t>(n));
  }
  (void)::shutdown(client, SHUT_WR);
  std::string heard(65536, '\0');
  std::size_t size = 0;
  while (size < heard.size()) {
    const ssize_t n = ::recv(client, heard.data() + size, heard.size() - size, 0);
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  heard.resize(size);
  // Not in TIME_WAIT: ports would run out.
  const linger reset{.l_onoff = 1, .l_linger = 0};
  (void)::setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  ::close(client);
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World* const open = new World("");  // NOLINT: threads of theirs run to the end
  static World* const guarded = new World("/nonexistent/tokens");
  if (size == 0) return 0;
  const bool is_open = data[0] % 2 == 0;
  const std::string_view said(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string heard = answer_to((is_open ? open : guarded)->server->port(), said);
  if (heard.empty()) return 0;  // a fence has ended the connection
  require(heard.starts_with("HTTP/1.1 ") || heard.starts_with("HTTP/1.0 "));
  int status = 0;
  require(std::from_chars(heard.data() + 9, heard.data() + heard.size(), status).ec == std::errc{});
  require(status >= 100 && status <= 599 && status != 500);
  // Engines, requests and moves are for holders of a token.
  require(is_open || heard.find(R"({"engines":[)") == std::string::npos);
  return 0;
}
