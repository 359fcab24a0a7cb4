// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/http_server.hpp"

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/http/connection.hpp"
#include "coordinator/http/reply.hpp"
#include "coordinator/http/retold.hpp"

#if defined(__SANITIZE_THREAD__)
// A system's cpp-httplib is not instrumented: ThreadSanitizer sees the memcmp() on its
// function-local statics, but not the guard that orders it. Only what the library itself
// calls is left out; our handlers, which it calls, are not.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();
const char* __tsan_default_suppressions() {
  return "called_from_lib:libcpp-httplib.so\n";
}
#endif

namespace aqua::coordinator {
namespace {

constexpr std::chrono::seconds kIdleThread{10};

// More would contend for the ledger and gain nothing; fewer might leave a core idle.
std::size_t threads_that_work() {
  return std::max<std::size_t>(8, std::size_t{2} * std::thread::hardware_concurrency());
}

// What the handler of the request at hand is given. The library calls it on the thread that
// gave it the request, and tells it nothing but what was in that.
struct AtHand {
  const Admitted& admitted;
  std::string_view body;
  HttpObserver::Reply reply;  // what became of it
};
thread_local AtHand* at_hand = nullptr;

// process_request() got the addresses as arguments in later versions of the library.
template <typename Process>
void process_one(Process process, httplib::Stream& stream) {
  bool closed = false;
  const std::function<void(httplib::Request&)> setup;
  if constexpr (requires { process(stream, true, closed, setup); }) {
    process(stream, true, closed, setup);
  } else {
    const std::string no_address;
    process(stream, no_address, 0, no_address, 0, true, closed, setup);
  }
}

Refusal refuse(int status, std::string message) {
  return {status, Error{Code::invalid_argument, std::move(message)}};
}

}  // namespace

HttpServer::HttpServer(const HttpOptions& options, Gate& gate, HttpObserver& observer,
                       const Epoch& epoch)
    : options_(options), gate_(gate), observer_(observer), epoch_(epoch) {
  // Before the library would look for a handler or read a body.
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    handle(request, response);
    return HandlerResponse::Handled;
  });
}

HttpServer::~HttpServer() {
  HttpServer::stop(std::chrono::steady_clock::now());
}

Result<void> HttpServer::start(UniqueFd listener) {
  pool_ = std::make_unique<ThreadPool>(PoolLimits{.threads = options_.max_threads,
                                                  .working = threads_that_work(),
                                                  .waiting = options_.max_waiting,
                                                  .idle = kIdleThread});
  const LobbyLimits limits{.connections = options_.max_connections,
                           .head_bytes = gate_.limits().head.bytes,
                           .patience = options_.read_timeout};
  AQUA_ASSIGN(
      lobby_,
      Lobby::start(std::move(listener), limits, options_.tls, [this](Lobby::Arrival arrival) {
        // std::function wants to be copied, an arrival must not be.
        auto shared = std::make_shared<Lobby::Arrival>(std::move(arrival));
        if (pool_->run([this, shared] { serve(std::move(*shared)); })) return;
        // Once for each doubling: a flood must not fill the log as well. On the lobby's thread.
        if (std::has_single_bit(++shed_))
          spdlog::warn("http: too many requests wait; a connection is closed ({} so far)", shed_);
      }));
  return {};
}

void HttpServer::close() {
  lobby_.reset();
}

void HttpServer::stop(std::chrono::steady_clock::time_point until) {
  close();
  {
    MutexLock lock(mu_);
    stopping_ = true;
    // Requests end here; replies under way may finish, for a moment.
    for (const int fd : serving_) ::shutdown(fd, SHUT_RD);
    while (!serving_.empty() && served_.wait_until(mu_, until)) continue;
    for (const int fd : serving_) ::shutdown(fd, SHUT_RDWR);
  }
  pool_.reset();
}

void HttpServer::serve(Lobby::Arrival arrival) {
  const int fd = arrival.channel.fd();
  {
    MutexLock lock(mu_);
    if (stopping_) return;
    serving_.insert(fd);
  }
  {
    Connection connection(arrival.channel, arrival.accepted + options_.read_timeout,
                          options_.write_timeout);
    std::string text = std::move(arrival.text);
    connection.finish(reply_to(connection, arrival, std::move(text)));
  }
  MutexLock lock(mu_);
  serving_.erase(fd);
  arrival.channel.close();  // under the lock: stop() must not meet the number again
  if (stopping_) served_.notify_all();
}

HttpObserver::Reply HttpServer::turn_away(httplib::Stream& stream, const Refusal& refusal) {
  observer_.refused(refusal.error.code);
  const std::string text = problem_text(epoch_, refusal);
  send_all(stream, text);
  return {refusal.status, text.size() - end_of_head(text).value_or(text.size())};
}

void HttpServer::turn_away_unread(httplib::Stream& stream, const Refusal& refusal) {
  const HttpObserver::Request request = observer_.began(kOtherPath);
  observer_.ended(request, {}, turn_away(stream, refusal));
}

bool HttpServer::reply_to(httplib::Stream& stream, const Lobby::Arrival& arrival,
                          std::string text) {
  if (arrival.said == Lobby::Said::no_tls) {
    turn_away_unread(stream, refuse(400, "TLS is spoken here: ask https://"));
    return false;
  }
  if (arrival.said == Lobby::Said::too_late) {
    turn_away_unread(stream, refuse(408, "the request did not come in time"));
    return false;
  }
  if (arrival.said == Lobby::Said::too_much) {
    const std::size_t limit = gate_.limits().head.bytes;
    turn_away_unread(stream, refuse(431, concat("the headers are longer than ", limit, " bytes")));
    return false;
  }
  Peer peer;
  if (options_.door != nullptr) {
    auto admitted = options_.door->admit(arrival.channel.fd());
    if (!admitted.ok()) {
      spdlog::warn("http: {}", admitted.error().message);
      turn_away_unread(stream, {403, std::move(admitted).error()});
      return false;
    }
    peer = *admitted;
  }
  return answer(stream, std::move(text), peer);
}

bool HttpServer::answer(httplib::Stream& stream, std::string text, const Peer& peer) {
  const std::size_t end = end_of_head(text).value_or(text.size());
  RequestHead head;
  auto refusal = parse_head(std::string_view(text).substr(0, end), gate_.limits().head, head);
  const HttpObserver::Request request =
      observer_.began(refusal ? kOtherPath : gate_.label_of(head.path));
  if (!refusal) {
    auto decision = gate_.decide(head, peer);
    if (auto* admitted = std::get_if<Admitted>(&decision)) {
      text.erase(0, end);
      refusal = read_body(stream, head, admitted->body_bytes, text);
      if (!refusal) {
        observer_.ended(request, head, dispatch(stream, head, *admitted, text));
        return true;
      }
    } else {
      refusal = std::move(std::get<Refusal>(decision));
    }
  }
  observer_.ended(request, head, turn_away(stream, *refusal));
  // Where no body is announced, none is on its way.
  return head.method == "GET" ||
         (head.count("content-length") == 1 && head.value("content-length") == "0");
}

std::optional<Refusal> HttpServer::read_body(httplib::Stream& stream, const RequestHead& head,
                                             std::size_t length, std::string& body) const {
  if (body.size() < length && head.value("expect") == "100-continue")
    send_all(stream, "HTTP/1.1 100 Continue\r\n\r\n");
  std::size_t have = body.size();
  body.resize(length);
  while (have < length) {
    const ssize_t n = stream.read(body.data() + have, length - have);
    if (n < 0) return refuse(408, "the body did not come in time");
    if (n == 0) return refuse(400, concat("the body ended after ", have, " of ", length, " bytes"));
    have += static_cast<std::size_t>(n);
  }
  return std::nullopt;
}

HttpObserver::Reply HttpServer::dispatch(httplib::Stream& stream, const RequestHead& head,
                                         const Admitted& admitted, std::string_view body) {
  AtHand current{admitted, body, {}};
  at_hand = &current;
  Retold retold(concat(head.method, " ", head.path, head.query.empty() ? "" : "?", head.query,
                       " HTTP/1.1\r\nConnection: close\r\n\r\n"),
                stream);
  process_one([this](auto&&... args) -> decltype(this->process_request(
                                         args...)) { return process_request(args...); },
              retold);
  retold.flush();
  at_hand = nullptr;
  return current.reply;
}

void HttpServer::handle(const httplib::Request& request, httplib::Response& response) {
  const Admitted& admitted = at_hand->admitted;
  // What is thrown stays here: the library would send its text to the client.
  try {
    admitted.route->handler({.request = request,
                             .caller = admitted.caller,
                             .parameters = admitted.parameters,
                             .body = at_hand->body,
                             .idempotency_key = admitted.idempotency_key},
                            response);
    at_hand->reply = {response.status, response.body.size()};
    return;
  } catch (const std::exception& e) {
    spdlog::error("http: {} {} threw: {}", admitted.route->method, admitted.route->path, e.what());
  } catch (...) {
    spdlog::error("http: {} {} threw", admitted.route->method, admitted.route->path);
  }
  response = {};
  const Error bug{Code::internal, "a bug of the coordinator's; its log says more"};
  observer_.refused(bug.code);
  write_problem(response, epoch_, bug, 500);
  at_hand->reply = {response.status, response.body.size()};
}

}  // namespace aqua::coordinator
