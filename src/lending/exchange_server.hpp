// SPDX-License-Identifier: Apache-2.0
// The exporter's side of the exchange socket: ties each consumer to a process, and learns of that
// process's death by its pidfd.
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
#include <vector>

#include "base/ids.hpp"
#include "base/socket/packet_server.hpp"
#include "base/socket/peer_process.hpp"
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

class ExchangeServer final : private PacketHandler {
 public:
  // Listens at `path`; `handler` must outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<ExchangeServer>> open(
      const std::string& path, ExchangeHandler& handler, const ExchangeLimits& limits = {});

 private:
  // A connection since its hello.
  struct Client {
    ClientId id;
    PeerProcess::Identity process;
  };

  ExchangeServer(ExchangeHandler& handler, const ExchangeLimits& limits)
      : handler_(handler), limits_(limits) {}
  std::optional<Answer> on_packet(const PacketPeer& from, Message packet) override;
  void on_closed(std::uint64_t number) override { clients_.erase(number); }
  [[nodiscard]] bool dispensable(std::uint64_t number) const override;
  [[nodiscard]] std::vector<int> watched() const override;
  void on_readable(PacketServer& server, int fd) override;

  [[nodiscard]] Reply answer(const PacketPeer& from, const ExchangeMessage& message,
                             std::vector<UniqueFd>& fds);
  [[nodiscard]] Result<void> greet(const PacketPeer& from, const ClientId& id);
  [[nodiscard]] Reply fetch(const PacketPeer& from, const Fetch& request,
                            std::vector<UniqueFd>& fds);
  [[nodiscard]] const Client* client_of(std::uint64_t number) const;
  // Whether its client id is its process's.
  [[nodiscard]] bool owns_its_id(const Client& client) const;

  ExchangeHandler& handler_;
  const ExchangeLimits limits_;
  // These belong to the server's thread.
  std::map<std::uint64_t, Client> clients_;  // by connection
  // Live processes that have been granted slabs, connected or not.
  std::map<ClientId, PeerProcess> peers_;
  std::unique_ptr<PacketServer> server_;  // its thread ends first
};

}  // namespace aqua::lending
