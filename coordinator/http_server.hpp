// HttpServer is cpp-httplib's parser and router behind our own accept loop, threads and
// limits. One request a connection: a thread is held by a request, never by an idle client.
//
// Threads: stop() may be called from any; routes are set before start(); handlers run
//          concurrently on the pool's threads.
// Owns:    the listening socket, one accepting thread and the pool.
#pragma once

#include <httplib.h>

#include <cstddef>
#include <memory>
#include <set>
#include <thread>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "coordinator/connection.hpp"
#include "coordinator/thread_pool.hpp"

namespace aqua::coordinator {

struct HttpOptions {
  std::size_t max_threads = 640;   // requests served at one time, watches included
  std::size_t max_waiting = 1024;  // accepted connections that wait for a thread; more are closed
  ConnectionLimits connection;
  std::chrono::milliseconds stop_patience{1000};  // for replies under way, when it stops
};

class HttpServer final : private httplib::Server {
 public:
  explicit HttpServer(HttpOptions options);
  ~HttpServer() override;  // stop()

  // To set routes on, before start().
  [[nodiscard]] httplib::Server& routes() noexcept { return *this; }

  // Serves connections of `listener`, a listening non-blocking socket, until stop().
  [[nodiscard]] Result<void> start(UniqueFd listener);
  // Accepts no more, cuts every connection, and waits for handlers: end what they wait for first.
  void stop();

 private:
  void accept_until_stopped();
  void serve(UniqueFd fd);

  const HttpOptions options_;
  UniqueFd listener_;
  UniqueFd stop_;  // an eventfd
  Mutex mu_;
  std::set<int> serving_ AQUA_GUARDED_BY(mu_);
  CondVar served_;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::unique_ptr<ThreadPool> pool_;
  std::thread acceptor_;
};

}  // namespace aqua::coordinator
