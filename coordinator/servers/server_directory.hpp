// SPDX-License-Identifier: Apache-2.0
// ServerDirectory tells other servers of this one, and knows what they tell: each is a key in etcd,
// which ends with a lease that its coordinator keeps (docs/operate/servers.md). Nothing waits for
// it: while etcd cannot be asked, the last known stay, and why is said.
//
// Threads: one of its own; every method may be called concurrently.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "coordinator/etcd/client.hpp"
#include "wire/servers.hpp"

namespace aqua::coordinator {

struct ServerOptions {
  std::string name{};            // 1 to 64 of a-z, A-Z, 0-9, '.', '_' and '-'
  std::string coordinator{};     // wire::Server::coordinator
  etcd::EtcdOptions etcd{};      // no members: no directory
  std::chrono::seconds ttl{10};  // after which others take a silent one for gone
};

class ServerDirectory {
 public:
  // What is told of this server: called by the directory's thread, and by all(), until stop().
  using Describe = std::function<wire::Server()>;
  struct Numbers {
    std::uint64_t servers = 0;   // that are known, this one among them
    std::uint64_t failures = 0;  // rounds that did not succeed, since the start
    bool up = true;              // the last round did
  };

  ServerDirectory(ServerOptions options, Describe describe);
  ~ServerDirectory() { stop(); }
  ServerDirectory(const ServerDirectory&) = delete;
  ServerDirectory& operator=(const ServerDirectory&) = delete;

  // Tells, where there is an etcd, from now on. Once.
  void begin();
  // Leaves, where etcd answered last: others know at once. Else they do when the lease runs out.
  void stop();

  // Without an epoch.
  [[nodiscard]] wire::Servers all() const;
  [[nodiscard]] Numbers numbers() const;
  // Why others may not know of this server, or it of them; nullopt: they do.
  [[nodiscard]] std::optional<Error> fault() const;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  struct Seen {
    std::vector<wire::Server> servers;
    std::optional<Error> odd;  // of a key that says what is not understood here
  };
  [[nodiscard]] Result<Seen> round();
  [[nodiscard]] Result<void> hold_lease();
  [[nodiscard]] Result<void> tell();
  [[nodiscard]] Result<etcd::Revision> claim();
  void note(Result<Seen> outcome);
  void note_fault(std::optional<Error> fault) AQUA_REQUIRES(mu_);

  const ServerOptions options_;
  const Describe describe_;
  std::stop_source stop_;
  const std::unique_ptr<etcd::Client> etcd_;  // nullptr: there is none

  // Of the thread, and of stop() after it.
  etcd::LeaseId lease_ = 0;
  std::optional<etcd::Revision> ours_{};  // of our key, as we wrote it under lease_
  std::string told_{};                    // what we wrote

  mutable Mutex mu_;
  CondVar stopped_;
  std::vector<wire::Server> servers_ AQUA_GUARDED_BY(mu_);
  Clock::time_point read_at_ AQUA_GUARDED_BY(mu_);
  std::optional<Error> fault_ AQUA_GUARDED_BY(mu_);
  std::uint64_t failures_ AQUA_GUARDED_BY(mu_) = 0;
  bool stop_asked_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aqua::coordinator
