// SPDX-License-Identifier: Apache-2.0
// Unix SOCK_SEQPACKET sockets: one send is one message, and descriptors can go with it.
//
// Threads: free functions; a descriptor is the caller's to serialise.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"

namespace aqua {

inline constexpr std::size_t kMaxMessageFds = 253;  // the kernel's SCM_MAX_FD

struct Message {
  std::vector<std::byte> bytes;  // empty: the other side has closed
  std::vector<UniqueFd> fds;
};

// Listens at `path` (mode 0600, close-on-exec). A stale file that nobody listens on is
// replaced. invalid_argument when the path does not fit sockaddr_un (107 characters);
// already_exists when somebody listens there.
[[nodiscard]] Result<UniqueFd> listen_seqpacket(const std::string& path);
// Connects to `path`. unavailable when nobody listens there; deadline_exceeded when the listener's
// queue stays full for `patience`.
[[nodiscard]] Result<UniqueFd> connect_seqpacket(
    const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds(5));
// Accepts a connection. unavailable when none waits (the listener is non-blocking).
[[nodiscard]] Result<UniqueFd> accept_seqpacket(int listener);

// Sends one message whole, or fails. unavailable when the other side is gone or its queue
// stays full for `patience`.
[[nodiscard]] Result<void> send_message(int fd, std::span<const std::byte> bytes,
                                        std::span<const int> fds,
                                        std::chrono::milliseconds patience);
// Receives one message of at most `max_bytes`. deadline_exceeded when none came in time;
// invalid_argument when bytes were cut off; resource_exhausted when descriptors were
// (MSG_CTRUNC: this process has none left).
[[nodiscard]] Result<Message> receive_message(int fd, std::size_t max_bytes,
                                              std::chrono::milliseconds patience);
// Who connected, or, of a connected socket, who listens: the process and user that the kernel noted
// when they did.
[[nodiscard]] Result<ucred> peer_credentials(int fd);
// permission_denied unless who listens at the other end of a connected socket is this process's
// user or root, who may do anyway what a listener could. `what` begins the message.
[[nodiscard]] Result<void> check_listener(int fd, std::string_view what);
// True when the other side has closed. What it sent before can still be received.
[[nodiscard]] bool peer_has_closed(int fd);

}  // namespace aqua
