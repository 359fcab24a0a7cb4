// SPDX-License-Identifier: Apache-2.0
// The exporter's side of the exchange socket: accepts consumers, ties each to a process,
// and learns of that process's death by its pidfd. One thread, one poll loop.
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

class ExchangeServer {
 public:
  static constexpr std::size_t kMaxConnections = 256;

  // Listens at `path`; `handler` must outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<ExchangeServer>> open(const std::string& path,
                                                                    ExchangeHandler& handler);
  // Stops the thread, closes every connection, removes the socket file.
  ~ExchangeServer();
  ExchangeServer(const ExchangeServer&) = delete;
  ExchangeServer& operator=(const ExchangeServer&) = delete;

 private:
  struct Connection {
    UniqueFd fd;
    std::optional<ClientId> client;
  };

  ExchangeServer(SocketFile file, UniqueFd listener, UniqueFd wake, ExchangeHandler& handler);
  void run();
  void accept_one();
  void forget_dead(const ClientId& client);
  // False: close the connection.
  [[nodiscard]] bool serve(Connection& connection);
  [[nodiscard]] Reply answer(Connection& connection, const ExchangeMessage& message,
                             std::vector<UniqueFd>& fds);
  [[nodiscard]] Result<void> greet(Connection& connection, const ClientId& client);

  const SocketFile file_;
  const UniqueFd listener_;
  const UniqueFd wake_;  // eventfd: written once, to stop
  ExchangeHandler& handler_;
  // The rest belongs to the thread.
  std::vector<std::unique_ptr<Connection>> connections_;
  std::map<ClientId, PeerProcess> peers_;  // live processes that have said hello, connected or not
  bool accept_later_ = false;  // no descriptors: a connection that waits must not make us spin
  std::thread thread_;
};

}  // namespace aqua::lending
