// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/pace.hpp"

#include <algorithm>

#include "base/socket/unix_socket.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::chrono::seconds kAtOnce{1};
// Beyond this many processes those that have used up nothing are forgotten.
constexpr std::size_t kMostProcesses = 4096;

}  // namespace

// The generic cell rate algorithm (ITU-T I.371): one time says all about a process.
std::optional<Pace::Time> Pace::turn_of(pid_t process, Time now) {
  if (used_until_.size() >= kMostProcesses)
    std::erase_if(used_until_, [now](const auto& used) { return used.second <= now; });
  Time& until = used_until_[process];
  until = std::max(until, now);
  const Time used = until + std::chrono::ceil<Time::duration>(interval_);
  const Time turn = std::max(now, used - kAtOnce);
  if (turn > now + kMostWait) return std::nullopt;
  until = used;
  return turn;
}

std::optional<Pace::Time> Pace::turn_of_peer(int socket, Time now) {
  const auto peer = peer_credentials(socket);
  if (!peer.ok() || peer->pid <= 0) return now;
  return turn_of(peer->pid, now);
}

}  // namespace aqua::coordinator
