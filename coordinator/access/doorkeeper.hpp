// SPDX-License-Identifier: Apache-2.0
// Doorkeeper applies the rules in force to whoever connects; a reload changes them.
//
// Threads: every method may be called concurrently.
#pragma once

#include "base/mutex.hpp"
#include "coordinator/access/peer.hpp"

namespace aqua::coordinator {

class Doorkeeper {
 public:
  explicit Doorkeeper(PeerPolicy rules) : rules_(std::move(rules)) {}

  // As PeerPolicy::admit.
  [[nodiscard]] Result<Peer> admit(int socket) const { return rules().admit(socket); }
  // For connections from now on.
  void change(PeerPolicy rules) {
    const MutexLock lock(mu_);
    rules_ = std::move(rules);
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
