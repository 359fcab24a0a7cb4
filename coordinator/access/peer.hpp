// SPDX-License-Identifier: Apache-2.0
// Who is at the other end of a connection, as the kernel knows it, and who may be there.
//
// Threads: free functions and plain data.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>

#include "aqua/result.hpp"
#include "tools/access/role.hpp"

namespace aqua::coordinator {

using namespace access;  // roles

struct Peer {
  bool local = false;      // over a Unix socket
  std::uint32_t uid = 0;   // where local
  Role role = Role::none;  // by who it is alone; over TCP: none
  bool by_tls = false;     // over TLS, whose certificate has proven to it that it found us
};

// Root and the daemon's own user are operators; the users and the group named here are engines.
struct PeerPolicy {
  std::set<std::uint32_t> allowed_uids;
  std::optional<gid_t> group;

  // The peer of a connected Unix socket (SO_PEERCRED, SO_PEERGROUPS); permission_denied when
  // it is nobody named here.
  [[nodiscard]] Result<Peer> admit(int socket) const;
};

}  // namespace aqua::coordinator
