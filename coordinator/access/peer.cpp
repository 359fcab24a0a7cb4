// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/peer.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/concat.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::size_t kMaxGroups = 65536;  // NGROUPS_MAX

bool is_member(int socket, const ucred& peer, gid_t group) {
  if (peer.gid == group) return true;
  std::vector<gid_t> groups(kMaxGroups);
  auto length = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &length) != 0) return false;
  groups.resize(length / sizeof(gid_t));
  return std::ranges::find(groups, group) != groups.end();
}

}  // namespace

Result<Peer> PeerPolicy::admit(int socket) const {
  AQUA_ASSIGN(const ucred peer, peer_credentials(socket));
  if (peer.uid == 0 || peer.uid == ::geteuid()) return Peer{true, peer.uid, Role::operator_};
  if (allowed_uids.contains(peer.uid) || (group && is_member(socket, peer, *group)))
    return Peer{true, peer.uid, Role::engine};
  return Error{Code::permission_denied,
               concat("user ", peer.uid, " is not allowed here (--allow-uid, --socket-group)")};
}

}  // namespace aqua::coordinator
