// SPDX-License-Identifier: Apache-2.0
// Client asks a cluster of etcd (3.4 or later) by the JSON gateway of any of its members, on which
// servers agree (docs/operate/servers.md). It keeps nothing but which member answered last, which
// cluster that was, and a token where there is a user.
//
// Threads: every method may be called concurrently; each but watch() blocks for at most
//          EtcdOptions::timeout at a member, and asks the next one where that cannot answer.
// Errors:  as parse_refusal()'s and curl::call()'s, naming the member; cancelled by `stop`;
//          unavailable where none answers; the file's where a password cannot be read. After
//          unavailable a change may have been made or not, also twice.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "coordinator/etcd/messages.hpp"
#include "tools/curl/call.hpp"

namespace aqua::coordinator::etcd {

struct EtcdOptions {
  std::vector<std::string> members{};  // "http://HOST:PORT" or "https://HOST:PORT"
  std::string
      authority{};     // PEM file, of https: who signs the members' certificates; "": as curl's
  std::string user{};  // "": none is asked for
  std::string password_file{};  // its first line; read when a token is wanted, for our eyes only
  std::chrono::milliseconds timeout{2000};
};

// What the file says. failed_precondition where others may read it.
[[nodiscard]] Result<std::string> read_password(const std::string& file);

class Client {
 public:
  Client(EtcdOptions options, std::stop_token stop);

  // All keys that begin with `prefix`, at one revision, as a majority of members has them.
  // failed_precondition when they are another cluster's than the last ones were.
  [[nodiscard]] Result<Rows> range(std::string_view prefix);
  [[nodiscard]] Result<Outcome> commit(const Transaction& transaction);
  // Calls `on_change` when it has begun, and then whenever a key that begins with `prefix` may have
  // changed; returns when the stream ends or cannot begin, for whatever reason, after five minutes
  // at the latest. A stream that a network swallowed ends no sooner: look by yourself now and then.
  void watch(std::string_view prefix, const std::function<void()>& on_change);
  // A lease that ends when it is not kept for so long; etcd makes short ones longer.
  [[nodiscard]] Result<LeaseId> grant(std::chrono::seconds ttl);
  // False: it has run out, and what was put with it is gone.
  [[nodiscard]] Result<bool> keep(LeaseId lease);
  // Ends it, and what was put with it, at once. One that has run out is no error.
  [[nodiscard]] Result<void> revoke(LeaseId lease);
  // That answered last.
  [[nodiscard]] std::string member() const;

 private:
  using Deadline = curl::Clock::time_point;

  // The body of a reply with status 200.
  [[nodiscard]] Result<std::string> ask(std::string_view path, const std::string& body);
  [[nodiscard]] Result<std::string> ask_as_user(const std::string& member, std::string_view path,
                                                const std::string& body, Deadline deadline);
  [[nodiscard]] Result<std::string> ask_with(const std::string& token, const std::string& member,
                                             std::string_view path, const std::string& body,
                                             Deadline deadline);
  // Forgets a token with which questions were late again and again.
  void note_answer(const std::string& token, bool late) AQUA_EXCLUDES(mu_);
  // Is token_ from then on.
  [[nodiscard]] Result<std::string> new_token(const std::string& member, Deadline deadline)
      AQUA_EXCLUDES(mu_);
  [[nodiscard]] curl::Request request_of(const std::string& token, const std::string& member,
                                         std::string_view path, const std::string& body,
                                         Deadline deadline) const;

  const EtcdOptions options_;
  const std::stop_token stop_;

  mutable Mutex mu_;
  std::size_t first_ AQUA_GUARDED_BY(mu_) = 0;  // of the members, to ask: it answered last
  std::string token_ AQUA_GUARDED_BY(mu_);
  unsigned late_ AQUA_GUARDED_BY(mu_) = 0;  // questions in a row that were not answered in time
  std::string cluster_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::coordinator::etcd
