// SPDX-License-Identifier: Apache-2.0
// ServerDirectory tells other servers of this one, and knows what they tell: each is a key in etcd,
// which ends with a lease that its coordinator keeps (docs/operate/servers.md). Nothing waits for
// it: while etcd cannot be asked, the last known stay, and why is said.
//
// Threads: two of its own, one of which waits for news; every method may be called concurrently.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
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
  // What else is done in each round in which this server was told and all were seen: their names.
  // Where it fails, the next round comes soon.
  using OnRound = std::function<Result<void>(const std::set<std::string>&)>;
  struct Numbers {
    std::uint64_t servers = 0;   // that are known, this one among them
    std::uint64_t failures = 0;  // rounds in which etcd could not be told or asked, since the start
    bool known = true;           // as they are now: the last round was none of these
  };

  ServerDirectory(ServerOptions options, Describe describe);
  ~ServerDirectory() { stop(false); }
  ServerDirectory(const ServerDirectory&) = delete;
  ServerDirectory& operator=(const ServerDirectory&) = delete;

  // Tells, where there is an etcd, from now on. Once.
  void begin(OnRound on_round);
  // Has the next round begin at once.
  void wake();
  // Once. `leaves`: others are to know at once, if etcd answers within a second. Else they know
  // when the lease runs out, so that a coordinator that is started again before was never away.
  void stop(bool leaves);

  // Without an epoch.
  [[nodiscard]] wire::Servers all() const;
  [[nodiscard]] Numbers numbers() const;
  // Whether this server's key was its own in the last round in which etcd could be asked.
  [[nodiscard]] bool is_told() const;
  // What of the servers is not as it should be: why others may not know of this one, or it of them;
  // a key that is not understood. nullopt: nothing.
  [[nodiscard]] std::optional<Error> fault() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::vector<wire::Server> servers;
    std::optional<Error> untold;  // this one could not be told
    std::optional<Error> odd;     // a key says what is not understood here
    bool is_done = true;          // what else a round does
  };

  void run();
  void follow();
  [[nodiscard]] Result<Seen> round();
  // This server's key, under a lease that is kept.
  [[nodiscard]] Result<void> tell();
  [[nodiscard]] Result<void> hold_lease();
  // Which change of our key was the last, and its value, where it may be ours.
  [[nodiscard]] Result<etcd::Row> claim();
  void note(Result<Seen> outcome);

  const ServerOptions options_;
  const Describe describe_;
  OnRound on_round_;  // not changed once the threads run
  std::stop_source stop_;
  const std::unique_ptr<etcd::Client> etcd_;  // nullptr: there is none

  // Only the thread uses these, and stop() after it.
  etcd::LeaseId lease_ = 0;
  std::optional<etcd::Revision> ours_{};  // of our key, as we wrote it under lease_
  std::string told_{};                    // what we wrote
  Clock::time_point next_figures_{};      // when what has changed of them may be told

  mutable Mutex mu_;
  CondVar woken_;
  bool wanted_ AQUA_GUARDED_BY(mu_) = false;  // a round, now
  std::vector<wire::Server> servers_ AQUA_GUARDED_BY(mu_);
  std::optional<Clock::time_point> read_at_ AQUA_GUARDED_BY(mu_);
  std::optional<Error> fault_ AQUA_GUARDED_BY(mu_);
  bool known_ AQUA_GUARDED_BY(mu_);
  bool again_ AQUA_GUARDED_BY(mu_) = false;  // the last round did not do all that one does
  bool told_now_ AQUA_GUARDED_BY(mu_) = false;
  std::uint64_t failures_ AQUA_GUARDED_BY(mu_) = 0;
  bool stop_asked_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
  std::thread follower_;
};

}  // namespace aqua::coordinator
