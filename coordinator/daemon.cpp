// SPDX-License-Identifier: Apache-2.0
#include "coordinator/daemon.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/shares.hpp"
#include "base/try.hpp"
#include "coordinator/host.hpp"
#include "coordinator/http/listener.hpp"
#include "coordinator/servers/server_owner.hpp"
#include "coordinator/servers/shared_groups.hpp"
#include "coordinator/store/memory_store.hpp"
#include "coordinator/store/sqlite_store.hpp"

namespace aqua::coordinator {
namespace {

// Watches hold a thread each; this many are left for everything else. A thread is started when it
// is wanted, so that most of them never are.
constexpr std::size_t kThreadsBesideWatches = 640;

// How many watches of groups there may be, beside max_watches of all else. Half as many will do:
// few clients are in groups.
std::size_t group_watches(const Options& options) {
  return options.max_watches / 2;
}

std::size_t threads_of(const Options& options) {
  return options.max_watches + group_watches(options) + kThreadsBesideWatches;
}

HttpOptions http_options(const Options& options) {
  HttpOptions http;
  http.max_connections = options.max_connections;
  http.max_threads = threads_of(options);
  return http;
}

// What a process and a user may ask at one time leaves threads and watches for others; as often as
// a few callers; never less than the operator lets one caller.
AdmissionLimits admission_limits(const Options& options) {
  AdmissionLimits limits = options.admission;
  const QuotaLimits& caller = limits.quota;
  const auto of_process = [&](std::size_t places) -> QuotaLimits {
    return {4 * caller.rate, std::max(caller.concurrent, share_of_process(places))};
  };
  const auto of_user = [&](std::size_t places) -> QuotaLimits {
    return {8 * caller.rate, std::max(caller.concurrent, share_of_user(places))};
  };
  limits.process = of_process(kThreadsBesideWatches);
  limits.user = of_user(kThreadsBesideWatches);
  limits.watches_of_process = of_process(options.max_watches);
  limits.watches_of_user = of_user(options.max_watches);
  return limits;
}

HttpOptions plain_options(const Options& options, const PeerAccess& peers) {
  HttpOptions http = http_options(options);
  if (options.listen.is_unix()) {
    http.peers = &peers;
    http.process_rate = options.max_process_rate;
  }
  return http;
}

HttpOptions tls_options(const Options& options, const TlsIdentity& tls) {
  HttpOptions http = http_options(options);
  http.tls = &tls;
  return http;
}

Result<std::unique_ptr<Store>> open_store(const Options& options, const DataDir& data,
                                          const Host& host) {
  if (!options.durable) return std::unique_ptr<Store>(std::make_unique<MemoryStore>(host));
  AQUA_ASSIGN(std::unique_ptr<Store> store,
              SqliteStore::open(data.path(), host, options.store_log));
  return store;
}

bool shares_groups(const Options& options) {
  return !options.server.etcd.members.empty();
}

std::unique_ptr<GroupStore> open_groups(const Options& options, std::shared_ptr<Store> store,
                                        const std::function<void(const Error&)>& on_fatal) {
  if (shares_groups(options)) return std::make_unique<SharedGroups>(options.server.etcd);
  return std::make_unique<LocalGroups>(std::move(store), on_fatal);
}

// Ends groups of a life without etcd: their members join again, in groups that all servers know.
Result<void> forget_local_groups(Store& store, groups::Book& book) {
  if (book.groups().empty()) return {};
  WriteSet rows;
  for (const auto& [id, group] : book.groups()) rows.groups_gone.push_back(id);
  spdlog::warn("{} groups were of this server alone, and are ended", rows.groups_gone.size());
  AQUA_TRY(store.commit(rows));
  book = groups::Book{};
  return {};
}

}  // namespace

Daemon::Daemon(const Options& options, const ServerOwner& owner, DataDir data, const Host& host,
               std::shared_ptr<Store> store, RestoredState& restored,
               std::unique_ptr<TlsIdentity> tls, const std::function<void(const Error&)>& on_fatal)
    : drain_timeout_(options.drain_timeout),
      data_(std::move(data)),
      metrics_(AQUA_VERSION),
      journal_(metrics_),
      observer_(metrics_),
      service_(store, std::move(restored.ledger),
               {.limits = options.limits,
                .max_watches = options.max_watches,
                .journal = &journal_,
                .on_fatal = on_fatal}),
      groups_(open_groups(options, std::move(store), on_fatal), std::move(restored.groups),
              service_,
              {.max_watches = group_watches(options),
               .server = shares_groups(options) ? options.server.name : std::string(),
               .sync_soon = [this] { servers_.wake(); },
               .is_told = [this] { return servers_.is_told(); }}),
      servers_(options.server,
               [this, options = options.server, owner] { return describe(options, owner); }),
      tokens_(options.tokens),
      peers_(options.peers),
      tls_(std::move(tls)),
      api_{.service = service_,
           .groups = groups_,
           .sessions = sessions_,
           .journal = journal_,
           .metrics = metrics_,
           .readiness = readiness_,
           .servers = servers_,
           .version = AQUA_VERSION,
           .server = host.boot,
           .host = host_name(),
           .lifeline = options.lifeline,
           .leases_survive = options.leases_survive},
      admission_(router_, sessions_, tokens_, admission_limits(options)),
      http_(plain_options(options, peers_), admission_, observer_, service_.epoch()) {
  install_api(router_, api_);
  if (tls_ != nullptr) {
    https_ = std::make_unique<HttpServer>(tls_options(options, *tls_), admission_, observer_,
                                          service_.epoch());
  }
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Options& options,
                                              const std::function<void(const Error&)>& on_fatal) {
  (void)spdlog::default_logger();  // made before there are threads that log
  std::unique_ptr<TlsIdentity> tls;
  if (options.tls_listen) {
    AQUA_ASSIGN(tls, TlsIdentity::load(options.tls));
  }
  AQUA_ASSIGN(DataDir data, DataDir::open(options.data));
  ServerOwner owner;
  if (shares_groups(options)) {
    AQUA_ASSIGN(owner, server_owner(data.path()));
  }
  if (!options.server.etcd.password_file.empty())
    AQUA_TRY(etcd::read_password(options.server.etcd.password_file));
  const Host host = this_host();
  AQUA_ASSIGN(std::unique_ptr<Store> store, open_store(options, data, host));
  AQUA_ASSIGN(RestoredState restored, restore(*store, host, options.limits, LedgerService::now()));
  if (shares_groups(options)) AQUA_TRY(forget_local_groups(*store, restored.groups));
  std::unique_ptr<Daemon> daemon(new Daemon(options, owner, std::move(data), host, std::move(store),
                                            restored, std::move(tls), on_fatal));
  AQUA_TRY(daemon->groups_.begin());
  const SocketAccess access{options.socket_mode, options.peers.group};
  AQUA_ASSIGN(UniqueFd lifeline, listen_lifeline(options.lifeline, access));
  LifelineOptions lifeline_options;
  lifeline_options.server = daemon->api_.server;
  lifeline_options.process_rate = options.max_process_rate;
  AQUA_ASSIGN(daemon->lifeline_,
              LifelineServer::start(std::move(lifeline), std::move(lifeline_options),
                                    daemon->peers_, daemon->service_, daemon->groups_,
                                    daemon->sessions_, std::move(restored.processes)));
  AQUA_TRY(daemon->listen(options));
  daemon->servers_.begin([&groups = daemon->groups_](const std::set<std::string>& present) {
    return groups.sync(present);
  });
  daemon->readiness_.set(Readiness::State::ready);
  return daemon;
}

wire::Server Daemon::describe(const ServerOptions& options, const ServerOwner& owner) {
  const Tally tally = journal_.tally();
  wire::Server server{.name = options.name,
                      .host = api_.host,
                      .version = api_.version,
                      .coordinator = options.coordinator,
                      .owner = owner};
  server.clients = service_.with([](ledger::Ledger& ledger, ledger::Time) {
    return static_cast<std::uint64_t>(ledger.clients().size());
  });
  for (const auto& [state, count] : groups_.numbers().groups) server.groups += count;
  for (const ledger::SlabState state : ledger::kSlabStates) {
    if (state != ledger::SlabState::returned) server.lent_bytes += tally.of(state).bytes;
  }
  for (const auto& [pair, loan] : tally.loans()) server.held_bytes += loan.bytes;
  return server;
}

Result<void> Daemon::listen(const Options& options) {
  const SocketAccess access{options.socket_mode, options.peers.group};
  AQUA_ASSIGN(Listener listener, listen_stream(options.listen, access));
  address_ = listener.address;
  AQUA_TRY(http_.start(std::move(listener.fd)));
  if (https_ == nullptr) return {};
  AQUA_ASSIGN(Listener secure, listen_stream(*options.tls_listen, access));
  tls_address_ = secure.address;
  return https_->start(std::move(secure.fd));
}

void Daemon::reload(const Options& options) {
  peers_.allow(options.peers.allowed_uids);
  if (tls_ == nullptr) return;
  if (auto read = tls_->reload(); !read.ok())
    spdlog::error("reload: the certificate in use stays: {}", read.error().message);
}

Daemon::~Daemon() {
  readiness_.set(Readiness::State::draining);
  groups_.stop();
  // While all else still answers. Who comes back in time was never away, for its members' sake.
  servers_.stop(!groups_.has_members());
  // Only what this daemon made: each is set once it listens.
  if (address_.is_unix()) ::unlink(address_.path.c_str());
  if (lifeline_) ::unlink(api_.lifeline.c_str());
  service_.stop();
  // Neither hears anybody while the other waits, and both together wait no longer than one.
  if (https_) https_->close();
  http_.close();
  const auto until = std::chrono::steady_clock::now() + drain_timeout_;
  if (https_) https_->stop(until);
  http_.stop(until);
  lifeline_.reset();
}

}  // namespace aqua::coordinator
