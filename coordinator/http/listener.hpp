// SPDX-License-Identifier: Apache-2.0
// Listening sockets of the daemon.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "wire/address.hpp"

namespace aqua::coordinator {

struct Listener {
  UniqueFd fd;            // non-blocking, close-on-exec; TCP: accepted ones have TCP_NODELAY
  wire::Address address;  // with the port that was given where 0 was asked for
};

// Who may open a Unix socket's file.
struct SocketAccess {
  mode_t mode = 0600;
  std::optional<gid_t> group;  // nullopt: the daemon's
};

// Listens for HTTP. A socket file that nobody listens on is replaced, and a new one gets
// `access`; already_exists when somebody listens, or when the path is no socket.
[[nodiscard]] Result<Listener> listen_stream(const wire::Address& address,
                                             const SocketAccess& access);

// Listens for lifelines at `path`, in the same manner.
[[nodiscard]] Result<UniqueFd> listen_lifeline(const std::string& path, const SocketAccess& access);

// Fails where listening at `address` would, but for one that somebody listens on: that may be the
// daemon that is to be replaced. Leaves no file.
[[nodiscard]] Result<void> check_listen(const wire::Address& address);

}  // namespace aqua::coordinator
