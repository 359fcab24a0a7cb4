// SPDX-License-Identifier: Apache-2.0
// The consumer's side of one exporter's exchange socket.
//
// Threads: concurrent calls are fine and are serialised; a fetch blocks the others for at
//          most kPatience. Called from control threads, never from an engine's.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "base/socket/unix_socket.hpp"
#include "lending/exchange_wire.hpp"

namespace aqua::lending {

class ExchangeClient {
 public:
  static constexpr std::chrono::milliseconds kPatience{1000};

  // Connects on first use, and again after a failure.
  ExchangeClient(std::string path, ClientId self) : path_(std::move(path)), self_(self) {}

  struct Fetched {
    UniqueFd fd;
    std::size_t bytes = 0;
  };
  // At most kMaxExchangeEntries. All or nothing; the error's code is the exporter's for the
  // first entry that it refused. unavailable: the exporter is away or silent.
  // resource_exhausted: this process has no descriptors left. On failure what the exporter
  // has granted, or grants when it wakes up, is given back. permission_denied: the socket is
  // neither this user's nor root's.
  [[nodiscard]] Result<std::vector<Fetched>> fetch(std::span<const FetchEntry> entries);
  // Posts the message and does not wait for the answer: a stopped exporter reads it when it
  // resumes. unavailable when it could not be posted.
  [[nodiscard]] Result<void> give_back(std::span<const GiveBackEntry> entries);
  // Whether there is no connection (any more): one that the exporter has ended is closed here.
  [[nodiscard]] bool disconnected();

 private:
  [[nodiscard]] Result<void> ensure_connected() AQUA_REQUIRES(mu_);
  [[nodiscard]] Result<void> drain(std::chrono::milliseconds patience) AQUA_REQUIRES(mu_);
  [[nodiscard]] Result<void> post(const GiveBack& message) AQUA_REQUIRES(mu_);
  [[nodiscard]] Error give_up(std::span<const FetchEntry> entries, Error why) AQUA_REQUIRES(mu_);
  [[nodiscard]] static Result<std::vector<Fetched>> take(Message message, const Reply& reply,
                                                         std::span<const FetchEntry> entries);

  const std::string path_;
  const ClientId self_;
  Mutex mu_;  // held across the socket: this lock *is* the connection's turn-taking
  UniqueFd fd_ AQUA_GUARDED_BY(mu_);
  std::size_t unread_replies_ AQUA_GUARDED_BY(mu_) = 0;
};

}  // namespace aqua::lending
