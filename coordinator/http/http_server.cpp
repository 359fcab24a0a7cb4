// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/http_server.hpp"

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <new>
#include <thread>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/common/memory_reserve.hpp"
#include "coordinator/http/connection.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::chrono::seconds kIdleThread{10};
constexpr std::size_t kBodyPiece = 16384;
constexpr std::size_t kShortBody = std::size_t{64} << 10;

// More would contend for the ledger and gain nothing; fewer might leave a core idle.
std::size_t threads_that_work() {
  return std::max<std::size_t>(8, std::size_t{2} * std::thread::hardware_concurrency());
}

Refusal out_of_memory() {
  return {503, Error{Code::unavailable, "there is no memory for this at the moment"},
          "Retry-After: 1\r\n"};
}

}  // namespace

HttpServer::HttpServer(const HttpOptions& options, Admission& admission, HttpObserver& observer,
                       const Epoch& epoch)
    : options_(options), admission_(admission), observer_(observer), epoch_(epoch) {}

HttpServer::~HttpServer() {
  stop(std::chrono::steady_clock::now());
}

Result<void> HttpServer::start(UniqueFd listener) {
  pool_ = std::make_unique<ThreadPool>(PoolLimits{.threads = options_.max_threads,
                                                  .working = threads_that_work(),
                                                  .waiting = options_.max_waiting,
                                                  .reserved = options_.reserved_threads,
                                                  .idle = kIdleThread});
  probes_ = std::make_unique<ThreadPool>(PoolLimits{.threads = options_.probe_threads,
                                                    .working = options_.probe_threads,
                                                    .waiting = options_.max_probes,
                                                    .idle = kIdleThread});
  const AcceptorLimits limits{.connections = options_.max_connections,
                              .head_bytes = admission_.limits().head.bytes,
                              .head_timeout = options_.read_timeout,
                              .process_rate = options_.process_rate};
  AQUA_ASSIGN(acceptor_,
              Acceptor::start(std::move(listener), limits, options_.tls,
                              [this](Acceptor::Arrival arrival) { arrived(std::move(arrival)); }));
  return {};
}

void HttpServer::arrived(Acceptor::Arrival arrival) {
  // Thousands may run out of time together: they must not take the places of those who ask.
  if (arrival.progress == Acceptor::Progress::timed_out)
    return turn_away_at_once(arrival, refuse(408, "the request did not come in time"));
  const Lane lane = arrival.progress == Acceptor::Progress::head ? admission_.lane_of(arrival.text)
                                                                 : Lane::common;
  const bool vital = lane == Lane::vital;
  const bool probe = lane == Lane::probe;
  if (!vital && !probe && memory_is_short()) return turn_away_at_once(arrival, out_of_memory());
  // std::function wants to be copied, an arrival must not be.
  auto shared = std::make_shared<Acceptor::Arrival>(std::move(arrival));
  ThreadPool& pool = probe ? *probes_ : *pool_;
  if (pool.run([this, shared, lane] { serve(std::move(*shared), lane); },
               vital ? ThreadPool::Turn::ahead : ThreadPool::Turn::in_order)) {
    return;
  }
  // Once for each doubling: a flood must not fill the log as well.
  if (std::has_single_bit(++shed_))
    spdlog::warn("http: too many requests wait; a connection is closed ({} so far)", shed_);
}

void HttpServer::turn_away_at_once(Acceptor::Arrival& arrival, const Refusal& refusal) {
  Connection connection(arrival.channel, arrival.accepted, std::chrono::milliseconds{0});
  turn_away_unread(connection, refusal);
  (void)arrival.channel.end();
}

void HttpServer::close() {
  acceptor_.reset();
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
  probes_.reset();
}

void HttpServer::serve(Acceptor::Arrival arrival, Lane lane) {
  const int fd = arrival.channel.fd();
  try {
    {
      MutexLock lock(mu_);
      if (stopping_) return;
      serving_.insert(fd);
    }
    // A stranger's probe holds none of the few threads for them: nobody waits for its reader.
    const bool probe = lane == Lane::probe;
    Connection connection(arrival.channel, arrival.accepted + options_.read_timeout,
                          probe ? std::chrono::milliseconds{0} : options_.write_timeout);
    std::string text = std::move(arrival.text);
    const bool all_read = reply_to(connection, arrival, std::move(text));
    if (probe) {
      (void)arrival.channel.end();
    } else {
      connection.finish(all_read);
    }
  } catch (const std::bad_alloc&) {
    spdlog::warn("http: out of memory; a connection is closed");
  }
  MutexLock lock(mu_);
  serving_.erase(fd);
  arrival.channel.close();  // under the lock: stop() must not meet the number again
  if (stopping_) served_.notify_all();
}

Reply HttpServer::refused(const Refusal& refusal) {
  observer_.refused(refusal.error.code);
  return problem(epoch_, refusal);
}

void HttpServer::turn_away_unread(Stream& stream, const Refusal& refusal) {
  const HttpObserver::Call call = observer_.began(kOtherPath);
  const Reply reply = refused(refusal);
  write_reply(stream, reply, /*with_body=*/true);
  observer_.ended(call, {}, reply);
}

bool HttpServer::reply_to(Stream& stream, const Acceptor::Arrival& arrival, std::string text) {
  if (arrival.progress == Acceptor::Progress::not_tls) {
    turn_away_unread(stream, refuse(400, "TLS is spoken here: ask https://"));
    return false;
  }
  if (arrival.progress == Acceptor::Progress::head_too_long) {
    const std::size_t limit = admission_.limits().head.bytes;
    turn_away_unread(stream, refuse(431, concat("the headers are longer than ", limit, " bytes")));
    return false;
  }
  Peer peer;
  peer.by_tls = options_.tls != nullptr;
  if (options_.peers != nullptr) {
    auto admitted = options_.peers->admit(arrival.channel.fd());
    if (!admitted.ok()) {
      spdlog::warn("http: {}", admitted.error().message);
      turn_away_unread(stream, {403, std::move(admitted).error()});
      return false;
    }
    peer = *admitted;
  }
  return answer(stream, std::move(text), peer);
}

bool HttpServer::answer(Stream& stream, std::string text, const Peer& peer) {
  const std::size_t end = end_of_head(text).value_or(text.size());
  RequestHead head;
  auto refusal = parse_head(std::string_view(text).substr(0, end), admission_.limits().head, head);
  const HttpObserver::Call call =
      observer_.began(refusal ? kOtherPath : admission_.label_of(head.path));
  std::optional<Admitted> admitted;  // counts against its caller until the reply is written
  if (!refusal) {
    auto decision = admission_.decide(head, peer);
    if (auto* yes = std::get_if<Admitted>(&decision)) {
      admitted.emplace(std::move(*yes));
    } else {
      refusal = std::move(std::get<Refusal>(decision));
    }
  }
  BodyBytes taken(body_bytes_);
  if (admitted) {
    text.erase(0, end);
    refusal = read_body(stream, head, admitted->body_bytes, text, taken);
  }
  const Reply reply = refusal ? refused(*refusal) : handle(head, *admitted, text);
  write_reply(stream, reply, /*with_body=*/head.method != "HEAD");
  observer_.ended(call, head, reply);
  if (!refusal) return true;
  // Where no body is announced, none is on its way.
  return head.method == "GET" ||
         (head.count("content-length") == 1 && head.value("content-length") == "0");
}

std::optional<Refusal> HttpServer::read_body(Stream& stream, const RequestHead& head,
                                             std::size_t length, std::string& body,
                                             BodyBytes& taken) {
  if (body.size() < length && lower(head.value("expect")) == "100-continue")
    write_all(stream, "HTTP/1.1 100 Continue\r\n\r\n");
  if (body.size() > length) body.resize(length);
  // Takes memory for what comes, not for what was announced.
  std::array<char, kBodyPiece> piece;
  while (body.size() < length) {
    const ssize_t n = stream.read(piece.data(), std::min(piece.size(), length - body.size()));
    if (n < 0 && errno == ETIMEDOUT) return refuse(408, "the body did not come in time");
    if (n <= 0) {
      return refuse(400, concat("the body ended after ", body.size(), " of ", length, " bytes"));
    }
    try {
      body.append(piece.data(), static_cast<std::size_t>(n));
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
    taken.own += static_cast<std::size_t>(n);
    taken.all += static_cast<std::size_t>(n);
    if (memory_is_short() || (body.size() > kShortBody && taken.all > options_.max_body_bytes))
      return out_of_memory();
  }
  return std::nullopt;
}

Reply HttpServer::handle(const RequestHead& head, const Admitted& admitted, std::string_view body) {
  // What is thrown is not told: its text may hold anything.
  try {
    return admitted.route->handler({.path = head.path,
                                    .query = head.query,
                                    .caller = admitted.caller,
                                    .parameters = admitted.parameters,
                                    .body = body,
                                    .idempotency_key = admitted.idempotency_key});
  } catch (const std::bad_alloc&) {
    return refused(out_of_memory());
  } catch (const std::exception& e) {
    spdlog::error("http: {} {} threw: {}", admitted.route->method, admitted.route->path, e.what());
  } catch (...) {
    spdlog::error("http: {} {} threw", admitted.route->method, admitted.route->path);
  }
  return refused({500, Error{Code::internal, "a bug of the coordinator's; its log says more"}});
}

}  // namespace aqua::coordinator
