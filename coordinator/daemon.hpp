// SPDX-License-Identifier: Apache-2.0
// Daemon is the coordinator of one machine: store, ledger, sessions, lifelines and HTTP, put
// together and taken apart in the right order.
//
// Threads: start(), reload() and the destructor from one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "aqua/result.hpp"
#include "coordinator/access/peer_access.hpp"
#include "coordinator/access/sessions.hpp"
#include "coordinator/api/api.hpp"
#include "coordinator/data_dir.hpp"
#include "coordinator/http/admission.hpp"
#include "coordinator/http/http_server.hpp"
#include "coordinator/http/router.hpp"
#include "coordinator/lifeline_server.hpp"
#include "coordinator/options.hpp"
#include "coordinator/servers/server_directory.hpp"
#include "coordinator/service/group_service.hpp"
#include "coordinator/service/ledger_service.hpp"
#include "coordinator/service/restored_state.hpp"
#include "coordinator/store/store.hpp"
#include "coordinator/tls/tls_identity.hpp"
#include "tools/access/tokens.hpp"
#include "wire/address.hpp"

namespace aqua::coordinator {

class Daemon {
 public:
  // Serves when this returns. `on_fatal` is called, from any thread, when the store can never be
  // written again: end the process, the next one begins with what is written.
  [[nodiscard]] static Result<std::unique_ptr<Daemon>> start(
      const Options& options,
      const std::function<void(const Error&)>& on_fatal = [](const Error&) {});
  // Ends watches, promises nothing more, lets replies under way end (for drain_timeout), cuts
  // connections, removes the sockets, then gives up the data directory.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Takes over the options that OptionSpec::reloads names, and reads certificate and key again.
  void reload(const Options& options);

  [[nodiscard]] const wire::Address& address() const noexcept { return address_; }
  // Where TLS is spoken; nullopt: nowhere.
  [[nodiscard]] const std::optional<wire::Address>& tls_address() const noexcept {
    return tls_address_;
  }

 private:
  [[nodiscard]] Result<void> listen(const Options& options);
  // What other servers are told of this one.
  [[nodiscard]] wire::Server describe(const ServerOptions& options, const ServerOwner& owner);
  Daemon(const Options& options, const ServerOwner& owner, DataDir data, const Host& host,
         std::shared_ptr<Store> store, RestoredState& restored, std::unique_ptr<TlsIdentity> tls,
         const std::function<void(const Error&)>& on_fatal);

  const std::chrono::milliseconds drain_timeout_;
  DataDir data_;
  wire::Address address_;
  std::optional<wire::Address> tls_address_;
  Metrics metrics_;
  Journal journal_;
  HttpObserver observer_;
  Readiness readiness_;
  LedgerService service_;
  GroupService groups_;
  Sessions sessions_;
  ServerDirectory servers_;
  TokenBook tokens_;
  PeerAccess peers_;
  std::unique_ptr<TlsIdentity> tls_;  // nullptr: none
  Api api_;
  Router router_;
  Admission admission_;
  HttpServer http_;
  std::unique_ptr<HttpServer> https_;  // where there is a tls_
  std::unique_ptr<LifelineServer> lifeline_;
};

}  // namespace aqua::coordinator
