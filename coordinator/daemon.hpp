// Daemon is the coordinator of one machine: ledger, sessions, lifelines and HTTP, put
// together and taken apart in the right order.
//
// Threads: start() and stop() from one thread.
#pragma once

#include <memory>
#include <string>

#include "aqua/result.hpp"
#include "coordinator/api.hpp"
#include "coordinator/data_dir.hpp"
#include "coordinator/http_server.hpp"
#include "coordinator/ledger_service.hpp"
#include "coordinator/lifeline_server.hpp"
#include "coordinator/options.hpp"
#include "coordinator/sessions.hpp"
#include "wire/address.hpp"

namespace aqua::coordinator {

class Daemon {
 public:
  // Serves when this returns.
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> start(const Options& options);
  // Ends watches, cuts connections, removes the sockets, then gives up the data directory.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  [[nodiscard]] const wire::Address& address() const noexcept { return address_; }

 private:
  Daemon(const Options& options, DataDir data);

  DataDir data_;
  wire::Address address_;
  Metrics metrics_;
  Journal journal_;
  HttpObserver observer_;
  Readiness readiness_;
  LedgerService service_;
  Sessions sessions_;
  Api api_;
  HttpServer http_;
  std::unique_ptr<LifelineServer> lifeline_;
};

}  // namespace aqua::coordinator
