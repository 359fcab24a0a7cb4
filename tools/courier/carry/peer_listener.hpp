// SPDX-License-Identifier: Apache-2.0
// PeerListener listens for other couriers and has a Receiver or a MirrorReceiver for each of their
// connections.
//
// Threads: one that listens, and one for each connection. The destructor ends them.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "tools/courier/carry/claims.hpp"
#include "tools/courier/carry/counters.hpp"
#include "tools/courier/net/link.hpp"
#include "tools/courier/net/mutual_tls.hpp"

namespace aqua::courier {

struct PeerListenerOptions {
  std::string address{};             // HOST:PORT
  std::vector<std::string> peers{};  // names of couriers that may come in
  std::vector<std::string> pools{};  // that they may give to; none: all
  bool copies = false;               // whether they may give copies of segments
  // At once; who comes then is told to go. As many more may be about to say who they are: of these
  // the one that has taken longest makes room for the next.
  std::size_t connections = 32;
  std::chrono::seconds patience = Link::kPatience;  // as Link::greeted()
  CarrierChoice carrier = CarrierChoice::tls;
};

class PeerListener {
 public:
  // unavailable: it cannot listen there. All that is referred to outlives it.
  [[nodiscard]] static Result<std::unique_ptr<PeerListener>> open(PeerListenerOptions options,
                                                                  std::string keeper,
                                                                  const MutualTls& identity,
                                                                  Counters& counters, Say say);
  ~PeerListener();
  PeerListener(const PeerListener&) = delete;
  PeerListener& operator=(const PeerListener&) = delete;

  [[nodiscard]] int port() const;

 private:
  struct Visit {
    UniqueFd stop;  // an event
    std::thread thread;
    bool greeted = false;  // it is a peer
    bool ends = false;     // it was told to
    bool over = false;
  };

  PeerListener(PeerListenerOptions options, std::string keeper, const MutualTls& identity,
               Counters& counters, Say say, UniqueFd socket, UniqueFd stop)
      : options_(std::move(options)),
        keeper_(std::move(keeper)),
        identity_(identity),
        counters_(counters),
        say_(std::move(say)),
        socket_(std::move(socket)),
        stop_(std::move(stop)) {}
  void listen();
  void begin(UniqueFd socket) AQUA_EXCLUDES(mu_);
  // Joins the threads of those that are over.
  void sweep() AQUA_EXCLUDES(mu_);
  void serve_visit(UniqueFd socket, Visit& visit) AQUA_EXCLUDES(mu_);
  // `who` is empty until it is known.
  [[nodiscard]] Result<void> serve(UniqueFd socket, Visit& visit, std::string& who);
  // It is a peer's from now on. resource_exhausted: there are as many as may be.
  [[nodiscard]] Result<void> greet(Visit& visit) AQUA_EXCLUDES(mu_);
  // Tells of somebody who is no peer, at most once a second.
  void say_of_stranger(const std::string& what) AQUA_EXCLUDES(mu_);

  const PeerListenerOptions options_;
  const std::string keeper_;
  const MutualTls& identity_;
  Counters& counters_;
  const Say say_;
  const UniqueFd socket_, stop_;
  Claims claims_;

  Mutex mu_;
  std::list<Visit> visits_ AQUA_GUARDED_BY(mu_);
  std::chrono::steady_clock::time_point last_stranger_ AQUA_GUARDED_BY(mu_){};
  std::thread thread_;
};

}  // namespace aqua::courier
