// SPDX-License-Identifier: Apache-2.0
// Client asks a cluster of etcd (3.4 or later) by the JSON gateway of any of its members, on which
// servers agree (docs/operate/servers.md). It keeps nothing but which member answered last, and a
// token where there is a user.
//
// Threads: every method may be called concurrently; each blocks for at most EtcdOptions::timeout at
//          a member, and asks the next one where that cannot answer.
// Errors:  as parse_refusal()'s and curl::call()'s, naming the member; cancelled by `stop`;
//          unavailable where none answers. After unavailable a change may have been made or not.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "coordinator/etcd/messages.hpp"

namespace aqua::coordinator::etcd {

struct EtcdOptions {
  std::vector<std::string> members{};  // "http://HOST:PORT" or "https://HOST:PORT"
  std::string
      authority{};     // PEM file, of https: who signs the members' certificates; "": as curl's
  std::string user{};  // "": none is asked for
  std::string password_file{};  // its first line; read when a token is wanted
  std::chrono::milliseconds timeout{2000};
};

class Client {
 public:
  Client(EtcdOptions options, std::stop_token stop);

  // All keys that begin with `prefix`, at one revision, as a majority of members has them.
  [[nodiscard]] Result<Rows> range(std::string_view prefix);
  [[nodiscard]] Result<Outcome> commit(const Transaction& transaction);
  // A lease that ends when it is not kept for so long; etcd makes short ones longer.
  [[nodiscard]] Result<LeaseId> grant(std::chrono::seconds ttl);
  // False: it has run out, and what was put with it is gone.
  [[nodiscard]] Result<bool> keep(LeaseId lease);
  // Ends it, and what was put with it, at once.
  [[nodiscard]] Result<void> revoke(LeaseId lease);

 private:
  // The body of a reply with status 200.
  [[nodiscard]] Result<std::string> ask(std::string_view path, const std::string& body);
  [[nodiscard]] Result<std::string> ask_as_user(const std::string& member, std::string_view path,
                                                const std::string& body);
  [[nodiscard]] Result<std::string> ask_with(const std::string& token, const std::string& member,
                                             std::string_view path, const std::string& body);
  [[nodiscard]] Result<std::string> new_token(const std::string& member);

  const EtcdOptions options_;
  const std::stop_token stop_;

  Mutex mu_;
  std::size_t first_ AQUA_GUARDED_BY(mu_) = 0;  // of the members, to ask: it answered last
  std::string token_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::coordinator::etcd
