#include "coordinator/sessions.hpp"

namespace aqua::coordinator {

Session Sessions::open(const ClientId& client, std::int64_t pid) {
  const Session session{client, pid, random_id<SessionTag>()};
  MutexLock lock(mu_);
  sessions_[client] = session;
  return session;
}

void Sessions::close(const ClientId& client) {
  MutexLock lock(mu_);
  sessions_.erase(client);
}

std::size_t Sessions::size() const {
  MutexLock lock(mu_);
  return sessions_.size();
}

std::optional<Session> Sessions::find(const SessionSecret& secret) const {
  MutexLock lock(mu_);
  std::optional<Session> found;
  for (const auto& [client, session] : sessions_) {
    if (same_secret(session.secret, secret)) found = session;
  }
  return found;
}

}  // namespace aqua::coordinator
