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

namespace aqua::coordinator {

struct Session {
  ClientId client;
  std::int64_t pid = 0;  // as the kernel told, never as the client says
  SessionSecret secret;
};

class Sessions {
 public:
  // A new session; the client's former one, if any, is over.
  Session open(const ClientId& client, std::int64_t pid);
  void close(const ClientId& client);

  [[nodiscard]] std::size_t size() const;
  // Compares with every secret in constant time, so that timing tells nothing of any.
  [[nodiscard]] std::optional<Session> find(const SessionSecret& secret) const;

 private:
  mutable Mutex mu_;
  std::map<ClientId, Session> sessions_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::coordinator
