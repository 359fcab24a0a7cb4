// SPDX-License-Identifier: Apache-2.0
// HttpServer serves one request a connection: the acceptor collects the head, admission decides
// on it, the body is read by its length, the route's handler answers, and its reply is written.
// No HTTP library takes part: docs/operate/http.md says why.
//
// Threads: stop() may be called from any; handlers run concurrently on the pool's threads.
// Owns:    the acceptor with the listening socket, and the pool.
// Memory:  a thread holds one request, of at most the head and the body limit.
#pragma once

#include <atomic>
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
  const PeerAccess* peers = nullptr;  // of a Unix socket, whose peers the kernel knows
  const TlsIdentity* tls = nullptr;   // shown over TLS; nullptr: plain
  std::size_t max_threads = 640;      // requests served at one time, watches included
  std::size_t reserved_threads = 32;  // besides those, for vital requests
  std::size_t probe_threads = 8;      // likewise, for probes
  std::size_t max_probes = 64;        // that wait beyond those; more are closed
  std::size_t max_body_bytes = std::size_t{64} << 20;  // of all bodies; then long ones are refused
  std::size_t max_waiting = 1024;                  // heads that wait beyond those; more are closed
  std::size_t max_connections = 10'000;            // pending: their head is not whole yet
  std::size_t process_rate = 0;                    // as AcceptorLimits::process_rate
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
  // Counts bytes of a body while it lives.
  struct BodyBytes {
    explicit BodyBytes(std::atomic<std::size_t>& of_all) : all(of_all) {}
    ~BodyBytes() { all -= own; }
    BodyBytes(const BodyBytes&) = delete;
    BodyBytes& operator=(const BodyBytes&) = delete;
    std::atomic<std::size_t>& all;
    std::size_t own = 0;
  };

  // On the acceptor's thread: has a thread of the pool serve it, or ends it here.
  void arrived(Acceptor::Arrival arrival);
  void serve(Acceptor::Arrival arrival, Lane lane);
  // Answers without waiting for whoever is to read it.
  void turn_away_at_once(Acceptor::Arrival& arrival, const Refusal& refusal);
  bool reply_to(Stream& stream, const Acceptor::Arrival& arrival, std::string text);
  // The reply to a refused request, counted as such.
  [[nodiscard]] Reply refused(const Refusal& refusal);
  // Answers a connection that brought no request to be read.
  void turn_away_unread(Stream& stream, const Refusal& refusal);
  // `taken` counts in body_bytes_ what has come of it.
  [[nodiscard]] std::optional<Refusal> read_body(Stream& stream, const RequestHead& head,
                                                 std::size_t length, std::string& body,
                                                 BodyBytes& taken);
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
  std::atomic<std::size_t> body_bytes_{0};
  std::uint64_t shed_ = 0;  // the acceptor's thread
  std::unique_ptr<ThreadPool> pool_;
  // A pool for probes, so that whoever floods it delays probes alone.
  std::unique_ptr<ThreadPool> probes_;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace aqua::coordinator
