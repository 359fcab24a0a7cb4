// SPDX-License-Identifier: Apache-2.0
// Sessions remembers which secret proves which client. A client has one session at a time;
// it begins when the lifeline is welcomed and ends with the lifeline.
//
// Threads: every method may be called concurrently.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "tools/access/digest.hpp"

namespace aqua::coordinator {

using namespace access;  // digests

struct Session {
  ClientId client;
  std::int64_t pid = 0;       // as the kernel told, never as the client says
  std::uint64_t started = 0;  // likewise: clock ticks after boot
  std::uint32_t uid = 0;      // likewise
  SessionSecret secret;
};

class Sessions {
 public:
  // A new session; the client's former one, if any, is over.
  Session open(const ClientId& client, std::int64_t pid, std::uint32_t uid,
               std::uint64_t started = 0);
  void close(const ClientId& client);

  [[nodiscard]] std::size_t size() const;
  // Looks by the secret's SHA-256 and then compares in constant time: what timing tells is of
  // the hash, from which no secret follows. Logarithmic in the sessions.
  [[nodiscard]] std::optional<Session> find(const SessionSecret& secret) const;

 private:
  mutable Mutex mu_;
  std::map<ClientId, Session> sessions_ AQUA_GUARDED_BY(mu_);
  std::map<Digest, ClientId> by_digest_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::coordinator
