// SPDX-License-Identifier: Apache-2.0
// LifelineServer tells idle from dead. Every client keeps one SOCK_SEQPACKET connection open;
// its hello is answered with the session's secret, and its process is held by a pidfd.
//
//   end of file on the connection -> the session ends, the ledger has a suspect
//   the pidfd becomes readable    -> proven dead
//   silence                       -> nothing: time to live is the ledger's business
//
// A child forked by the client may hold the connection open; death still comes by the pidfd.
// The messages are in docs/operate/http.md.
//
// Threads: one of its own does everything.
// Owns:    the listening socket and the connections; the file at the path is the caller's.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/socket/peer_process.hpp"
#include "base/unique_fd.hpp"
#include "coordinator/access/pace.hpp"
#include "coordinator/access/peer_access.hpp"
#include "coordinator/access/sessions.hpp"
#include "coordinator/service/group_service.hpp"
#include "coordinator/service/ledger_service.hpp"

namespace aqua::coordinator {

struct LifelineOptions {
  std::string server;  // boot id, told in the welcome
  std::chrono::milliseconds hello_timeout{2000};
  std::size_t max_strangers = 64;   // connections that have not said hello; one more ends another
  std::size_t process_rate = 1000;  // connections a second of one process; more are closed
};

class LifelineServer {
 public:
  // `listener` listens already; peers, services and sessions must outlive this. `former` are
  // the living processes of clients that an earlier daemon knew: their deaths are watched for.
  static Result<std::unique_ptr<LifelineServer>> start(UniqueFd listener, LifelineOptions options,
                                                       const PeerAccess& peers,
                                                       LedgerService& service, GroupService& groups,
                                                       Sessions& sessions,
                                                       std::map<ClientId, PeerProcess> former = {});
  ~LifelineServer();  // stops; says nothing to the ledger

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    UniqueFd fd;
    std::optional<PeerProcess> peer;  // until it has become a client
    Clock::time_point hello_deadline;
    ClientId client;  // nil until hello
  };
  struct Client {
    PeerProcess peer;
    Connection* connection = nullptr;  // nullptr: the lifeline is closed
  };
  using Connections = std::list<Connection>;

  LifelineServer(UniqueFd listener, UniqueFd stop, LifelineOptions options, const PeerAccess& peers,
                 LedgerService& service, GroupService& groups, Sessions& sessions,
                 std::map<ClientId, PeerProcess>&& former);
  void run();
  // Waits for something to happen, and deals with it. False: it is time to stop.
  [[nodiscard]] bool turn();
  [[nodiscard]] int wait_ms() const;
  // False: nobody waits.
  [[nodiscard]] bool accept_one();
  // Ends a connection that has not said hello, where there are too many: the oldest of the process
  // that has most, of the user that has most.
  void make_room();
  // resource_exhausted where all places are taken, or by this process or user its share of them.
  [[nodiscard]] Result<void> may_enter(const PeerProcess& newcomer) const;
  // `pidfds`: what poll() has said of each client's, in order.
  void bury_dead(std::span<const pollfd> pidfds);
  void hear(Connections::iterator connection);
  [[nodiscard]] Result<void> welcome(Connection& connection, std::string_view hello);
  void lifeline_closed(const ClientId& client);
  void client_died(const ClientId& client);

  const UniqueFd listener_;
  const UniqueFd stop_;  // an eventfd
  const LifelineOptions options_;
  const PeerAccess& peers_;
  LedgerService& service_;
  GroupService& groups_;
  Sessions& sessions_;
  // The thread's own.
  Pace pace_;
  Clock::time_point rests_until_{};  // until then nobody is accepted
  Connections connections_;
  std::map<ClientId, Client> clients_;

  std::thread thread_;
};

}  // namespace aqua::coordinator
