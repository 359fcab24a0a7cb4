// SPDX-License-Identifier: Apache-2.0
#include "coordinator/access/sessions.hpp"

#include <string_view>

namespace aqua::coordinator {
namespace {

Digest digest_of_secret(const SessionSecret& secret) {
  return digest_of({reinterpret_cast<const char*>(secret.bytes.data()), secret.bytes.size()});
}

}  // namespace

Session Sessions::open(const ClientId& client, std::int64_t pid, std::uint32_t uid,
                       std::uint64_t started) {
  const Session session{client, pid, started, uid, random_id<SessionTag>()};
  close(client);
  MutexLock lock(mu_);
  sessions_[client] = session;
  by_digest_[digest_of_secret(session.secret)] = client;
  return session;
}

void Sessions::close(const ClientId& client) {
  MutexLock lock(mu_);
  const auto found = sessions_.find(client);
  if (found == sessions_.end()) return;
  by_digest_.erase(digest_of_secret(found->second.secret));
  sessions_.erase(found);
}

std::size_t Sessions::size() const {
  MutexLock lock(mu_);
  return sessions_.size();
}

std::optional<Session> Sessions::find(const SessionSecret& secret) const {
  const Digest digest = digest_of_secret(secret);
  MutexLock lock(mu_);
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end()) return std::nullopt;
  const Session& session = sessions_.at(found->second);
  if (!same_secret(session.secret, secret)) return std::nullopt;
  return session;
}

}  // namespace aqua::coordinator
