// SPDX-License-Identifier: Apache-2.0
#include "tools/http/http_client.hpp"

#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/http/call_limit.hpp"
#include "tools/report/text.hpp"

namespace aqua::http {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostErrorText = 2000;
constexpr std::size_t kMostBody = std::size_t{16} << 20;
// In place of no limit: httplib counts milliseconds in an int.
constexpr std::chrono::seconds kWithoutLimit{std::chrono::hours(24 * 7)};

// Linux repeats a SYN that was lost after a second.
std::chrono::seconds time_to_connect(std::chrono::seconds timeout) {
  constexpr std::chrono::seconds kLeast{2};
  return std::max(kLeast, (timeout.count() > 0 ? timeout : HttpOptions{}.timeout) / 10);
}

// True when this process, or the machine, has no descriptor left: a call that failed for want of
// one would fail again.
bool no_descriptor_left() {
  const int one = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (one < 0) return errno == EMFILE || errno == ENFILE;
  ::close(one);
  return false;
}

Error bad_url(std::string_view url, std::string_view what) {
  return Error{Code::invalid_argument, concat("URL ", report::shown(url), ": ", what)};
}

}  // namespace

Result<EngineUrl> parse_url(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  if (text.starts_with("https://"))
    return bad_url(text, "https is not spoken here: ask the engine where it runs, over http");
  if (!text.starts_with(kScheme)) return bad_url(text, "expected http://HOST[:PORT][/PREFIX]");
  std::string_view rest = text.substr(kScheme.size());
  EngineUrl url;
  if (const std::size_t slash = rest.find('/'); slash != rest.npos) {
    url.prefix = rest.substr(slash);
    rest = rest.substr(0, slash);
  }
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  // Users give the base as OpenAI's clients want it.
  if (url.prefix.ends_with("/v1")) url.prefix.resize(url.prefix.size() - 3);
  const std::size_t bracket = rest.rfind(']');
  if (const std::size_t colon = rest.rfind(':');
      colon != rest.npos && (bracket == rest.npos || colon > bracket)) {
    const auto port = report::parse_number<int>(rest.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) return bad_url(text, "a port is 1 to 65535");
    url.port = *port;
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  const bool clean =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (rest.empty() || !clean) return bad_url(text, "expected http://HOST[:PORT][/PREFIX]");
  url.host = rest;
  return url;
}

struct HttpClient::Impl {
  Impl(const EngineUrl& url, const HttpOptions& options)
      : name(concat(url.host, ":", url.port)),
        prefix(url.prefix),
        timeout(options.timeout.count() > 0 ? options.timeout : kWithoutLimit),
        to_connect(time_to_connect(options.timeout)),
        whole(options.whole),
        client(url.host, url.port),
        ends(options.stop, [this] { end(); }) {
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
    client.set_read_timeout(timeout.count(), 0);
    client.set_write_timeout(timeout.count(), 0);
    client.set_connection_timeout(to_connect.count(), 0);
    if (!options.api_key.empty()) client.set_bearer_token_auth(options.api_key);
    // An end that came before there was a connection to be cut: shut down like this, the socket
    // connects and then neither sends nor receives.
    client.set_socket_options([this](socket_t socket) {
      if (stopped || late) (void)::shutdown(socket, SHUT_RDWR);
    });
  }

  void end() {
    stopped = true;
    client.stop();
  }

  [[nodiscard]] Error silent() const {
    return {Code::deadline_exceeded,
            concat(name, ": said nothing for ", timeout.count(), " s: does it hang?")};
  }

  [[nodiscard]] Error fault(httplib::Error error, Clock::time_point started) const {
    if (stopped || error == httplib::Error::Canceled) return {Code::cancelled, "stopped"};
    // Its own word for a time limit is the same as for an end of the connection.
    if (error == httplib::Error::Read && Clock::now() - started >= timeout) return silent();
    if (error == httplib::Error::Connection && no_descriptor_left()) {
      return {Code::resource_exhausted,
              "this machine, not the engine, is at its limit: no file descriptor is left; raise "
              "ulimit -n"};
    }
    if (error == httplib::Error::ConnectionTimeout) {
      return {Code::deadline_exceeded,
              concat(name, ": took no connection for ", to_connect.count(), " s: is it there?")};
    }
    if (error == httplib::Error::Connection)
      return {Code::unavailable, concat(name, ": cannot be reached: is it running?")};
    return {Code::unavailable, concat(name, ": broke off (", httplib::to_string(error), ")")};
  }

  Result<Reply> send(httplib::Request& request, const OnData* data) {
    if (stopped) return Error{Code::cancelled, "stopped"};
    late = false;
    CallLimit limit;
    if (whole.count() > 0) {
      AQUA_TRY(limit.begin(whole, [this] {
        late = true;
        client.stop();
      }));
    }
    Reply reply;
    std::size_t kept = 0;
    bool lapsed = false;
    Clock::time_point heard = Clock::now();
    request.response_handler = [&](const httplib::Response& head) {
      heard = Clock::now();
      reply.status = head.status;
      return true;
    };
    request.content_receiver = [&](const char* bytes, std::size_t n, std::uint64_t, std::uint64_t) {
      const Clock::time_point now = Clock::now();
      const bool stream = reply.status == 200 && data != nullptr;
      const Heard found = stream ? (*data)({bytes, n}, now) : Heard::something;
      if (found == Heard::something) heard = now;
      lapsed = found == Heard::nothing && now - heard >= timeout;
      if (stream) return found != Heard::enough && !lapsed;
      kept += n;
      const std::size_t most = reply.status == 200 ? kMostBody : kMostErrorText;
      reply.body.append(bytes, std::min(n, most - reply.body.size()));
      return kept <= kMostBody;
    };
    const auto result = client.send(request);
    if (limit.end() && !stopped) {  // an answer without a length may look whole
      return Error{Code::deadline_exceeded, concat(name, request.path, ": takes longer than ",
                                                   whole.count(), " ms: does it hang?")};
    }
    if (kept > kMostBody) {
      return Error{Code::data_loss,
                   concat(name, request.path, ": answers with more than ", kMostBody, " bytes")};
    }
    if (lapsed) return silent();
    if (!result) return fault(result.error(), heard);
    return reply;
  }

  // A request without a body.
  Result<Reply> bare(const char* method, const std::string& path) {
    httplib::Request request;
    request.method = method;
    request.path = prefix + path;
    return send(request, nullptr);
  }

  const std::string name;
  const std::string prefix;
  const std::chrono::seconds timeout;
  const std::chrono::seconds to_connect;
  const std::chrono::milliseconds whole;
  std::atomic<bool> stopped{false};
  std::atomic<bool> late{false};  // the call under way
  httplib::Client client;
  const std::stop_callback<std::function<void()>> ends;  // last: it uses the others
};

HttpClient::HttpClient(const EngineUrl& url, const HttpOptions& options)
    : impl_(std::make_unique<Impl>(url, options)) {}
HttpClient::~HttpClient() = default;

Result<Reply> HttpClient::get(const std::string& path) {
  return impl_->bare("GET", path);
}

Result<Reply> HttpClient::erase(const std::string& path) {
  return impl_->bare("DELETE", path);
}

Result<Reply> HttpClient::post(const std::string& path, const std::string& body,
                               const OnData& data) {
  httplib::Request request;
  request.method = "POST";
  request.path = impl_->prefix + path;
  request.body = body;
  request.set_header("Content-Type", "application/json");
  return impl_->send(request, &data);
}

void HttpClient::stop() {
  impl_->end();
}

}  // namespace aqua::http
