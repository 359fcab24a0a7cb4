// SPDX-License-Identifier: Apache-2.0
// The exporter's side of the exchange socket: accepts consumers, ties each to a process,
// and learns of that process's death by its pidfd. One thread, one poll loop.
//
// A client id is what a process says in its hello, and anybody may say it. It belongs to the
// process that is first granted a slab under it, for which a secret is needed, until that process
// dies; so a hello alone takes no id from anybody, and costs no descriptor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.hpp"
#include "base/peer_process.hpp"
#include "base/socket_file.hpp"
#include "base/unique_fd.hpp"
#include "lending/exchange_wire.hpp"

namespace aqua::lending {

// Called on the server's thread only. Must not block for long: other holders wait.
class ExchangeHandler {
 public:
  virtual ~ExchangeHandler() = default;
  // Fills `fds` with one descriptor an entry when every entry is granted.
  [[nodiscard]] virtual std::vector<ReplyEntry> on_fetch(const ClientId& client,
                                                         std::span<const FetchEntry> entries,
                                                         std::vector<UniqueFd>& fds) = 0;
  [[nodiscard]] virtual std::vector<ReplyEntry> on_give_back(
      const ClientId& client, std::span<const GiveBackEntry> entries) = 0;
  virtual void on_dead(const ClientId& client) = 0;
};

// What others may take of this process. When all connections are taken, the oldest whose process
// has been granted nothing makes room; without such a one the new connection is closed.
struct ExchangeLimits {
  std::size_t connections = 256;
  std::size_t of_one_process = 64;  // connections, and also client ids that have been granted slabs
};

class ExchangeServer {
 public:
  // Listens at `path`; `handler` must outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<ExchangeServer>> open(
      const std::string& path, ExchangeHandler& handler, const ExchangeLimits& limits = {});
  // Stops the thread, closes every connection, removes the socket file.
  ~ExchangeServer();
  ExchangeServer(const ExchangeServer&) = delete;
  ExchangeServer& operator=(const ExchangeServer&) = delete;

 private:
  struct Connection {
    UniqueFd fd;
    std::int64_t pid = 0;            // of who connected
    std::optional<ClientId> client;  // since the hello, and of this process:
    PeerProcess::Identity process;
  };

  ExchangeServer(SocketFile file, UniqueFd listener, UniqueFd wake, ExchangeHandler& handler,
                 const ExchangeLimits& limits);
  void run();
  void accept_one();
  [[nodiscard]] bool make_room_for(std::int64_t pid);
  void forget_dead(const ClientId& client);
  // False: close the connection.
  [[nodiscard]] bool serve(Connection& connection);
  [[nodiscard]] Reply answer(Connection& connection, const ExchangeMessage& message,
                             std::vector<UniqueFd>& fds);
  [[nodiscard]] Result<void> greet(Connection& connection, const ClientId& client);
  [[nodiscard]] Reply fetch(const Connection& connection, const Fetch& request,
                            std::vector<UniqueFd>& fds);
  // Whether its client id is its process's.
  [[nodiscard]] bool owns_its_id(const Connection& connection) const;

  const SocketFile file_;
  const UniqueFd listener_;
  const UniqueFd wake_;  // eventfd: written once, to stop
  ExchangeHandler& handler_;
  const ExchangeLimits limits_;
  // The rest belongs to the thread.
  std::vector<std::unique_ptr<Connection>> connections_;  // the oldest first
  // Live processes that have been granted slabs, connected or not.
  std::map<ClientId, PeerProcess> peers_;
  bool accept_later_ = false;  // no descriptors: a connection that waits must not make us spin
  std::thread thread_;
};

}  // namespace aqua::lending
