// SPDX-License-Identifier: Apache-2.0
// Any bytes on a connection to the router: each reply is HTTP with a known status, and never that
// of a bug. The first byte says which router hears them: one that is open to everybody ('0'), or
// one that wants a token ('1' to '4'). There the word TOKEN stands for a token of the caller's
// role, which is none, read-only, engine or operator, and nobody is told or does what is beyond it.
// No engine is behind them: what asks for a model or an answer is told so, once it is let in.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "base/concat.hpp"
#include "tools/access/tokens.hpp"
#include "tools/router/serve/server.hpp"

namespace {

using namespace aqua::router;

void require(bool holds) {
  if (!holds) std::abort();
}

using aqua::concat;
using aqua::access::Role;

constexpr const char* kWord = "TOKEN";
constexpr std::size_t kMostHeard = 1 << 20;

struct World {
  explicit World(const std::string& tokens) {
    FleetOptions options;
    options.health = std::chrono::hours(1);  // port 1 is nobody's
    fleet = Fleet::open(options, {parse_engine("a=http://127.0.0.1:1").value()}).value();
    ServerOptions serving{.port = 0};
    serving.filter.tokens = tokens;
    serving.filter.quota = {.rate = 1'000'000, .concurrent = 1000};
    serving.filter.most_body = 4096;
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
  std::string heard(kMostHeard, '\0');
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

// A file with a token of each role, gone when the fuzzer ends.
struct Tokens {
  Tokens() {
    require(::mkdtemp(folder.data()) != nullptr);
    file = folder + "/tokens";
    for (const Role role : {Role::read_only, Role::engine, Role::operator_})
      of[role] = aqua::access::issue_token(file, role, "fuzzer").value();
  }
  ~Tokens() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  std::string folder = (std::filesystem::temp_directory_path() / "aqua-edge-XXXXXX").string();
  std::string file{};
  std::map<Role, std::string> of{};
};

std::string with_token(std::string said, const std::string& token) {
  for (std::size_t at = 0; !token.empty() && (at = said.find(kWord, at)) != said.npos;)
    at = said.replace(at, std::strlen(kWord), token).find(token, at) + token.size();
  return said;
}

struct Answer {
  int status = 0;
  std::string_view body{};
};

// The first reply of those that came on a connection, which it is taken off. What is left after it
// begins with the next one: a reply to HEAD has no body, whatever length it tells.
Answer take_answer(std::string_view& heard) {
  require(heard.starts_with("HTTP/1.1 ") || heard.starts_with("HTTP/1.0 "));
  Answer answer;
  require(std::from_chars(heard.data() + 9, heard.data() + heard.size(), answer.status).ec ==
          std::errc{});
  const std::size_t end = heard.find("\r\n\r\n");
  require(end != heard.npos);
  const std::string_view head = heard.substr(0, end);
  heard.remove_prefix(end + 4);
  if (heard.starts_with("HTTP/1.")) return answer;
  constexpr std::string_view kLength = "Content-Length: ";
  std::size_t length = 0;
  if (const std::size_t at = head.find(kLength); at != head.npos)
    (void)std::from_chars(head.data() + at + kLength.size(), head.data() + head.size(), length);
  answer.body = heard.substr(0, length);
  heard.remove_prefix(answer.body.size());
  return answer;
}

// What is told without a token.
const std::set<std::string>& open_bodies(int port) {
  static const std::set<std::string> bodies = [port] {
    std::set<std::string> found{"", "{}"};  // to HEAD, and by /healthz
    for (const char* path : {"/", "/dashboard.css", "/common.js", "/router.js"}) {
      const std::string heard =
          answer_to(port, concat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n"));
      std::string_view left = heard;
      const Answer answer = take_answer(left);
      require(answer.status == 200 && !answer.body.empty());
      found.emplace(answer.body);
    }
    return found;
  }();
  return bodies;
}

// Requires that a caller of this role may be told this answer, by a router that wants tokens.
void check_allowed(int port, const Answer& answer, Role role, std::string_view said) {
  // By paths that are spelled another way anything may be asked for.
  const auto may_ask = [said](std::string_view part) {
    return said.find(part) != said.npos || said.find('%') != said.npos;
  };
  const bool done = answer.status / 100 == 2;
  if (role == Role::none) require(!done || open_bodies(port).contains(std::string(answer.body)));
  // Whoever reads may ask for the model, and is told the same.
  if (role == Role::none || (role == Role::read_only && !may_ask("/v1/models")))
    require(answer.body.find("no engine has told yet what it serves") == answer.body.npos);
  if (role < Role::operator_) {
    require(!done || answer.body != "{}" || may_ask("ealthz"));
    for (const char* judged : {"drains already", "does not drain", "no request is called",
                               "no engine is called", R"(expected {\"to\")"})
      require(answer.body.find(judged) == answer.body.npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tokens tokens;
  // Their threads run to the end.
  static World* const open = new World("");
  static World* const guarded = new World(tokens.file);
  if (size == 0) return 0;
  const unsigned who = static_cast<std::uint8_t>(data[0] - '0') % 5;
  const bool is_open = who == 0;
  const auto role = is_open ? Role::operator_ : static_cast<Role>(who - 1);
  const auto issued = tokens.of.find(role);
  const std::string token = issued == tokens.of.end() ? std::string() : issued->second;
  const std::string said = with_token({reinterpret_cast<const char*>(data) + 1, size - 1}, token);
  const int port = (is_open ? open : guarded)->server->port();
  const std::string heard = answer_to(port, said);
  if (heard.size() == kMostHeard) return 0;  // the last reply is not whole
  // Where nothing was heard, a fence has ended the connection.
  for (std::string_view left = heard; !left.empty();) {
    const Answer answer = take_answer(left);
    require(answer.status >= 100 && answer.status <= 599 && answer.status != 500);
    require(answer.status != 206);
    if (!is_open) check_allowed(port, answer, role, said);
  }
  return 0;
}
