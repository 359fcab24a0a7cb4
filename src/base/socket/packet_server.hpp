// SPDX-License-Identifier: Apache-2.0
// PacketServer answers requests on a Unix SOCK_SEQPACKET socket: each packet is one, and gets one
// packet in answer. It waits for nobody: who leaves so many answers unread that the next one does
// not fit is cut off.
//
// Threads: one of its own, on which the handler is called; it must not block for long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aqua/result.hpp"
#include "base/socket/socket_file.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/unique_fd.hpp"

namespace aqua {

class PacketServer;

// A connection, for as long as a call lasts. Numbers are never given twice.
struct PacketPeer {
  std::uint64_t number = 0;
  int fd = -1;
  std::int64_t pid = 0;  // of who connected
  std::uint32_t uid = 0;
};

class PacketHandler {
 public:
  struct Answer {
    std::vector<std::byte> bytes;
    std::vector<UniqueFd> fds{};
    std::vector<int> kept_fds{};  // sent behind those; they stay the handler's
  };

  PacketHandler() = default;
  PacketHandler(const PacketHandler&) = delete;
  PacketHandler& operator=(const PacketHandler&) = delete;
  virtual ~PacketHandler() = default;

  // Nothing: the connection is closed.
  [[nodiscard]] virtual std::optional<Answer> on_packet(const PacketPeer& from, Message packet) = 0;
  // A connection has ended, whoever closed it. Nothing more comes from it.
  virtual void on_closed(std::uint64_t number) = 0;
  // Whether it may be closed to make room for another.
  [[nodiscard]] virtual bool dispensable(std::uint64_t number) const = 0;
  // Descriptors to wait for as well: on_readable() is called for each that is readable, after the
  // packets that came until then have been heard.
  [[nodiscard]] virtual std::vector<int> watched() const { return {}; }
  virtual void on_readable(PacketServer& /*server*/, int /*fd*/) {}
};

// What others may take of this process. When all connections are taken, the oldest dispensable one
// makes room; where there is none the new one is closed.
struct PacketLimits {
  std::size_t packet_bytes = 4096;  // a longer one ends its connection
  std::size_t connections = 256;
  std::size_t of_one_process = 64;
};

class PacketServer {
 public:
  // Listens at `path`, and removes the file at the end. `handler` outlives the server.
  [[nodiscard]] static Result<std::unique_ptr<PacketServer>> open(const std::string& path,
                                                                  PacketHandler& handler,
                                                                  const PacketLimits& limits);
  // Stops the thread and closes every connection, without telling the handler.
  ~PacketServer();
  PacketServer(const PacketServer&) = delete;
  PacketServer& operator=(const PacketServer&) = delete;

  // Closes a connection, from inside on_readable() alone. What waits in it is not heard.
  void close(std::uint64_t number);

 private:
  struct Connection {
    PacketPeer peer;
    UniqueFd fd;
  };

  PacketServer(SocketFile file, UniqueFd listener, UniqueFd wake, PacketHandler& handler,
               const PacketLimits& limits);
  void run();
  void accept_one();
  [[nodiscard]] bool make_room_for(std::int64_t pid);
  // False: the connection ends.
  [[nodiscard]] bool serve(const Connection& connection);
  void end(Connection& connection);

  const SocketFile file_;
  const UniqueFd listener_;
  const UniqueFd wake_;  // eventfd: written once, to stop
  PacketHandler& handler_;
  const PacketLimits limits_;
  // The rest belongs to the thread.
  std::vector<Connection> connections_;  // the oldest first; without descriptor: ended
  std::uint64_t last_ = 0;
  bool accept_later_ = false;  // no descriptors: a connection that waits must not make us spin
  std::thread thread_;
};

}  // namespace aqua
