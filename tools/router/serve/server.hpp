// SPDX-License-Identifier: Apache-2.0
// RouterServer answers clients and operators over HTTP/1.1, by cpp-httplib behind fences of our own
// (fenced_stream.hpp). A connection has a thread for as long as it lives.
//
// Threads: drain() and port() from any.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "aqua/result.hpp"
#include "tools/router/fleet/fleet.hpp"
#include "tools/router/flow/conversation.hpp"
#include "tools/router/observe/counters.hpp"
#include "tools/router/serve/request_filter.hpp"

namespace aqua::router {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;                          // 0: any that is free
  std::size_t connections = 1024;           // at one time; more are turned away (503)
  std::chrono::milliseconds write{30'000};  // that a client may take to read what was written
  std::string coordinator_page{};           // its address, for a link on this one's; "": none
  RequestFilterOptions filter{};
  ConversationOptions conversation{};
};

class RouterServer {
 public:
  // Listens and serves; `fleet` and `counters` outlive it. already_exists: somebody listens there.
  [[nodiscard]] static Result<std::unique_ptr<RouterServer>> start(const ServerOptions& options,
                                                                   Fleet& fleet,
                                                                   Counters& counters);
  ~RouterServer();  // drain() at once
  RouterServer(const RouterServer&) = delete;
  RouterServer& operator=(const RouterServer&) = delete;

  [[nodiscard]] int port() const;
  // Takes no further request (503, /readyz too) and returns when all that are here have ended; at
  // `until` it ends them.
  void drain(std::chrono::steady_clock::time_point until);

 private:
  struct Impl;
  explicit RouterServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua::router
