// SPDX-License-Identifier: Apache-2.0
// PeerAccess holds the rules about who may connect to a Unix socket; a reload replaces the users.
// The group stays, as the socket's does.
//
// Threads: every method may be called concurrently.
#pragma once

#include "base/mutex.hpp"
#include "coordinator/access/peer.hpp"

namespace aqua::coordinator {

class PeerAccess {
 public:
  explicit PeerAccess(PeerPolicy rules) : rules_(std::move(rules)) {}

  // As PeerPolicy::admit.
  [[nodiscard]] Result<Peer> admit(int socket) const { return rules().admit(socket); }
  // For connections from now on.
  void allow(std::set<std::uint32_t> uids) {
    const MutexLock lock(mu_);
    rules_.allowed_uids = std::move(uids);
  }

 private:
  [[nodiscard]] PeerPolicy rules() const {
    const MutexLock lock(mu_);
    return rules_;
  }

  mutable Mutex mu_;
  PeerPolicy rules_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::coordinator
