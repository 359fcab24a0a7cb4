// SPDX-License-Identifier: Apache-2.0
#include "coordinator/lifeline_server.hpp"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/shares.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"
#include "wire/clients.hpp"
#include "wire/error.hpp"
#include "wire/limits.hpp"

namespace aqua::coordinator {
namespace {

constexpr int kAcceptsAtOnce = 256;  // before lifelines are looked at again
// For which nobody is accepted after one of a process that connects too often, or without
// descriptors.
constexpr std::chrono::milliseconds kRest{10};

// A client that does not read its one answer is not waited for.
Result<void> say(int fd, std::string_view text) {
  return send_message(fd, std::as_bytes(std::span(text)), {}, std::chrono::milliseconds{0});
}

}  // namespace

Result<std::unique_ptr<LifelineServer>> LifelineServer::start(
    UniqueFd listener, LifelineOptions options, const PeerAccess& peers, LedgerService& service,
    GroupService& groups, Sessions& sessions, std::map<ClientId, PeerProcess> former) {
  AQUA_ASSIGN(UniqueFd stop, make_wake_event());
  return std::unique_ptr<LifelineServer>(new LifelineServer(std::move(listener), std::move(stop),
                                                            std::move(options), peers, service,
                                                            groups, sessions, std::move(former)));
}

LifelineServer::LifelineServer(UniqueFd listener, UniqueFd stop, LifelineOptions options,
                               const PeerAccess& peers, LedgerService& service,
                               GroupService& groups, Sessions& sessions,
                               std::map<ClientId, PeerProcess>&& former)
    : listener_(std::move(listener)),
      stop_(std::move(stop)),
      options_(std::move(options)),
      peers_(peers),
      service_(service),
      groups_(groups),
      sessions_(sessions),
      pace_(options_.process_rate) {
  for (auto& [id, process] : former) clients_.try_emplace(id, Client{std::move(process), nullptr});
  thread_ = std::thread([this] { run(); });
}

LifelineServer::~LifelineServer() {
  signal_event(stop_.get());
  thread_.join();
}

void LifelineServer::run() {
  for (;;) {
    try {
      if (!turn()) return;
    } catch (const std::bad_alloc&) {
      // What was not dealt with is reported again; a hello that was read and not answered ends.
      spdlog::error("lifeline: out of memory");
      pollfd stop{stop_.get(), POLLIN, 0};
      ::poll(&stop, 1, 10);
    }
  }
}

bool LifelineServer::turn() {
  const bool rests = Clock::now() < rests_until_;
  std::vector<pollfd> fds{{stop_.get(), POLLIN, 0}, {rests ? -1 : listener_.get(), POLLIN, 0}};
  const std::size_t first_client = fds.size();
  for (const auto& [id, client] : clients_) fds.push_back({client.peer.pidfd(), POLLIN, 0});
  const std::size_t first_connection = fds.size();
  for (const Connection& connection : connections_) fds.push_back({connection.fd.get(), POLLIN, 0});
  if (::poll(fds.data(), fds.size(), wait_ms()) < 0 && errno != EINTR) {
    spdlog::critical("lifeline: {}", errno_error("poll").message);
    return false;
  }
  if (fds[0].revents != 0) return false;
  // Deaths first, or a killed client would pass through suspect on its way.
  bury_dead(std::span(fds).subspan(first_client, clients_.size()));
  // Hearing one connection may close another, but only turn() and hear() take the one at hand
  // out of the list, so places still match `fds`.
  std::size_t place = first_connection;
  for (auto at = connections_.begin(); at != connections_.end();) {
    const auto next = std::next(at);
    const bool ready = fds[place++].revents != 0;
    const bool late = at->client.is_nil() && Clock::now() >= at->hello_deadline;
    if (!at->fd.valid()) {
      connections_.erase(at);
    } else if (ready) {
      hear(at);
    } else if (late) {
      connections_.erase(at);
    }
    at = next;
  }
  for (int i = 0; fds[1].revents != 0 && i < kAcceptsAtOnce && accept_one(); ++i) continue;
  return true;
}

int LifelineServer::wait_ms() const {
  const auto now = Clock::now();
  auto earliest = rests_until_ > now ? rests_until_ : Clock::time_point::max();
  for (const Connection& connection : connections_) {
    if (connection.client.is_nil()) earliest = std::min(earliest, connection.hello_deadline);
  }
  if (earliest == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(earliest - now);
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

bool LifelineServer::accept_one() {
  auto accepted = accept_seqpacket(listener_.get());
  if (!accepted.ok()) {
    if (accepted.error().code != Code::unavailable) {
      spdlog::error("lifeline: {}", accepted.error().message);
      rests_until_ = Clock::now() + kRest;  // out of descriptors: do not spin on it
    }
    return false;
  }
  UniqueFd fd = *std::move(accepted);
  const auto now = Clock::now();
  if (pace_.turn_of_peer(fd.get(), now) != now) {
    rests_until_ = now + kRest;
    return true;
  }
  const auto refuse = [&](const Error& refusal) {
    spdlog::warn("lifeline: {}", refusal.message);
    (void)say(fd.get(),
              wire::encode(wire::ErrorReply{.epoch = service_.epoch(), .error = refusal}));
    return true;
  };
  auto peer = PeerProcess::of_socket(fd.get());
  if (!peer.ok()) return refuse(peer.error());
  if (auto admitted = peers_.admit(fd.get()); !admitted.ok()) return refuse(admitted.error());
  connections_.push_back(
      {std::move(fd), *std::move(peer), now + options_.hello_timeout, ClientId{}});
  make_room();
  return true;
}

void LifelineServer::make_room() {
  std::map<std::uint32_t, std::size_t> of_users;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> of_processes;
  std::size_t strangers = 0;
  for (const Connection& connection : connections_) {
    if (!connection.peer) continue;
    ++strangers;
    ++of_users[connection.peer->uid()];
    ++of_processes[{connection.peer->uid(), connection.peer->pid()}];
  }
  if (strangers <= options_.max_strangers) return;
  const auto rank = [&](const Connection& connection) {
    if (!connection.peer) return std::pair<std::size_t, std::size_t>{};
    const PeerProcess& peer = *connection.peer;
    return std::pair{of_users.at(peer.uid()), of_processes.at({peer.uid(), peer.pid()})};
  };
  // The first of equals, and connections stand in order of age.
  connections_.erase(std::ranges::max_element(connections_, {}, rank));
}

Result<void> LifelineServer::may_enter(const PeerProcess& newcomer) const {
  const std::size_t places = service_.limits().max_clients;
  std::size_t of_process = 0;
  std::size_t of_user = 0;
  for (const auto& [id, client] : clients_) {
    if (client.peer.same_process(newcomer)) ++of_process;
    if (client.peer.uid() == newcomer.uid()) ++of_user;
  }
  const auto refuse = [&](const auto&... who) {
    return Error{Code::resource_exhausted,
                 concat("hello: ", who..., " clients of at most ", places, " in all")};
  };
  if (clients_.size() >= places) return refuse(clients_.size());
  if (of_process >= share_of_process(places))
    return refuse("process ", newcomer.pid(), " has ", of_process);
  if (of_user >= share_of_user(places)) return refuse("user ", newcomer.uid(), " has ", of_user);
  return {};
}

void LifelineServer::hear(Connections::iterator connection) {
  // Readiness means a message or the end; only the first message is one we expect.
  auto message =
      receive_message(connection->fd.get(), wire::kMaxHelloBytes, std::chrono::milliseconds{0});
  const bool end = message.ok() && message->bytes.empty();
  if (!connection->client.is_nil()) {
    if (!end && message.ok()) return;  // a client may say more one day; it changes nothing today
    const ClientId client = connection->client;
    const auto known = clients_.find(client);
    // First: where there is no memory for it, the end is reported again.
    if (known != clients_.end() && known->second.peer.proven_dead()) {
      client_died(client);  // since the poll: never a suspect
    } else {
      lifeline_closed(client);
    }
    connections_.erase(connection);
    return;
  }
  Result<void> outcome = Error{Code::unavailable, "closed before its hello"};
  if (!message.ok()) {
    outcome = std::move(message).error();
  } else if (!end) {
    const auto& bytes = message->bytes;
    outcome = welcome(*connection, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  if (outcome.ok()) return;
  spdlog::warn("lifeline: {}", outcome.error().message);
  (void)say(connection->fd.get(),
            wire::encode(wire::ErrorReply{.epoch = service_.epoch(), .error = outcome.error()}));
  connections_.erase(connection);
}

Result<void> LifelineServer::welcome(Connection& connection, std::string_view hello_text) {
  AQUA_ASSIGN(const wire::Hello hello, wire::decode<wire::Hello>(hello_text));
  if (hello.version != wire::kLifelineVersion) {
    return Error{Code::unimplemented, concat("hello: version ", hello.version,
                                             ", this coordinator speaks ", wire::kLifelineVersion)};
  }
  if (const auto known = clients_.find(hello.client); known != clients_.end()) {
    Client& former = known->second;
    if (former.peer.same_process(*connection.peer)) {
      // Its own former lifeline, broken or given up: replaced without a suspect in between.
      if (former.connection != nullptr) former.connection->fd.reset();
      former.connection = nullptr;
      former.peer =
          *std::move(connection.peer);  // of one that was found by its pid, the user is news
    } else if (former.peer.proven_dead()) {
      client_died(hello.client);
    } else {
      return Error{Code::permission_denied,
                   concat("hello: client ", to_string(hello.client), " is process ",
                          former.peer.pid(), ", which is alive")};
    }
  }
  if (!clients_.contains(hello.client)) {
    AQUA_TRY(may_enter(*connection.peer));
    // A session whose process nobody watched would outlive it.
    clients_.try_emplace(hello.client, Client{*std::move(connection.peer), nullptr});
  }
  Client& client = clients_.at(hello.client);
  const PeerProcess& peer = client.peer;
  const Session session = sessions_.open(hello.client, peer.pid(), peer.uid(), peer.start_time());
  service_.end_watch(hello.client);  // of the former session
  const auto sent = say(connection.fd.get(),
                        wire::encode(wire::Welcome{.epoch = service_.epoch(),
                                                   .secret = session.secret,
                                                   .server = options_.server,
                                                   .client_ttl = service_.limits().client_ttl}));
  spdlog::info("lifeline: client {} is process {}", to_string(hello.client), session.pid);
  connection.client = hello.client;
  client.connection = &connection;
  connection.peer.reset();
  // Where the welcome did not arrive the end of file will, and is handled there.
  if (!sent.ok()) spdlog::warn("lifeline: welcome: {}", sent.error().message);
  return {};
}

void LifelineServer::lifeline_closed(const ClientId& client) {
  // The order matters: a join still under way looks for its session while it has the ledger,
  // so it either comes before suspect() or is refused.
  sessions_.close(client);
  service_.end_watch(client);
  const bool matters = service_.with([&](ledger::Ledger& ledger, ledger::Time now) {
    if (ledger.suspect(client, now).ok()) return true;
    return !ledger.held_by(client).empty();  // not joined, and yet a producer has declared it
  });
  (void)groups_.changed(client);
  const auto at = clients_.find(client);
  if (at == clients_.end()) return;
  at->second.connection = nullptr;
  if (matters) {
    spdlog::warn("lifeline: client {} (process {}) closed its lifeline: suspect", to_string(client),
                 at->second.peer.pid());
  } else {
    clients_.erase(at);  // it had left, or never came: nothing of it is left to watch over
  }
}

void LifelineServer::bury_dead(std::span<const pollfd> pidfds) {
  std::vector<ClientId> dead;
  auto at = pidfds.begin();
  for (const auto& [id, client] : clients_) {
    if ((at++)->revents != 0) dead.push_back(id);
  }
  for (const ClientId& id : dead) client_died(id);
}

void LifelineServer::client_died(const ClientId& client) {
  sessions_.close(client);
  service_.end_watch(client);
  const auto outcome = service_.with(
      [&](ledger::Ledger& ledger, ledger::Time now) { return ledger.dead(client, now); });
  groups_.gone(client);
  const auto at = clients_.find(client);
  if (outcome.ok())
    spdlog::warn("lifeline: client {} (process {}) is dead", to_string(client),
                 at->second.peer.pid());
  if (at->second.connection != nullptr) at->second.connection->fd.reset();  // swept by turn()
  clients_.erase(at);
}

}  // namespace aqua::coordinator
