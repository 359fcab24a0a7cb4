// SPDX-License-Identifier: Apache-2.0
// HttpServer serves one request a connection: the acceptor collects the head, admission decides
// on it, the body is read by its length, the route's handler answers, and its reply is written.
// No HTTP library takes part: docs/operate/http.md says why.
//
// Threads: stop() may be called from any; handlers run concurrently on the pool's threads.
// Owns:    the acceptor with the listening socket, and the pool.
// Memory:  a thread holds one request, of at most the head and the body limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "coordinator/access/peer.hpp"
#include "coordinator/access/peer_access.hpp"
#include "coordinator/common/thread_pool.hpp"
#include "coordinator/http/acceptor.hpp"
#include "coordinator/http/admission.hpp"
#include "coordinator/http/http_observer.hpp"
#include "coordinator/http/reply.hpp"
#include "coordinator/http/stream.hpp"
#include "coordinator/tls/tls_identity.hpp"

namespace aqua::coordinator {

struct HttpOptions {
  const PeerAccess* peers = nullptr;               // of a Unix socket, whose peers the kernel knows
  const TlsIdentity* tls = nullptr;                // shown over TLS; nullptr: plain
  std::size_t max_threads = 640;                   // requests served at one time, watches included
  std::size_t reserved_threads = 32;               // besides those, for vital requests
  std::size_t max_waiting = 1024;                  // heads that wait beyond those; more are closed
  std::size_t max_connections = 10'000;            // pending: their head is not whole yet
  std::chrono::milliseconds read_timeout{5000};    // from accept to the request's last byte
  std::chrono::milliseconds write_timeout{10000};  // from the reply's first byte to its last
};

class HttpServer {
 public:
  // Borrows the admission, the observer, and what the options point to.
  HttpServer(const HttpOptions& options, Admission& admission, HttpObserver& observer,
             const Epoch& epoch);
  ~HttpServer();  // close(), and stop() at once

  // Serves connections of `listener`, a listening non-blocking socket, until stop().
  [[nodiscard]] Result<void> start(UniqueFd listener);
  // Accepts no more; what has come goes on.
  void close();
  // close(), lets replies under way finish until then, cuts every connection, and waits for
  // handlers: end what they wait for first.
  void stop(std::chrono::steady_clock::time_point until);

  // Answers one request: `text` is its head and perhaps some of its body, the rest is read from
  // `stream`. False: refused before its end was read, so that more may be on its way. For
  // serving, and for tests and fuzzers without a socket.
  bool answer(Stream& stream, std::string text, const Peer& peer);

 private:
  void serve(Acceptor::Arrival arrival);
  bool reply_to(Stream& stream, const Acceptor::Arrival& arrival, std::string text);
  // The reply to a refused request, counted as such.
  [[nodiscard]] Reply refused(const Refusal& refusal);
  // Answers a connection that brought no request to be read.
  void turn_away_unread(Stream& stream, const Refusal& refusal);
  [[nodiscard]] std::optional<Refusal> read_body(Stream& stream, const RequestHead& head,
                                                 std::size_t length, std::string& body) const;
  // Asks the route's handler.
  [[nodiscard]] Reply handle(const RequestHead& head, const Admitted& admitted,
                             std::string_view body);

  const HttpOptions options_;
  Admission& admission_;
  HttpObserver& observer_;
  const Epoch epoch_;
  Mutex mu_;
  std::set<int> serving_ AQUA_GUARDED_BY(mu_);
  CondVar served_;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::uint64_t shed_ = 0;  // the acceptor's thread
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace aqua::coordinator
