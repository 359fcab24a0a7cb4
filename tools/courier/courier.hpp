// SPDX-License-Identifier: Apache-2.0
// Courier carries parcels between this server's keeper and those of other servers, gives them
// copies of what this one's keeps, and keeps nothing: whatever ends it, each parcel is with one
// keeper or the other.
//
// Threads: one for each connection of a route, one for each mirror, and those of PeerListener. The
//          destructor ends them.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "tools/courier/carry/counters.hpp"
#include "tools/courier/carry/peer_listener.hpp"
#include "tools/courier/carry/sender.hpp"
#include "tools/courier/mirror/mirror_sender.hpp"
#include "tools/courier/net/mutual_tls.hpp"
#include "tools/courier/observe/metrics_page.hpp"

namespace aqua::courier {

struct CourierOptions {
  std::string keeper{};  // path of its socket, as SegmentsOptions::keeper
  MutualTlsFiles files{};
  PeerListenerOptions listener{};  // no address: nobody may connect
  std::vector<Route> routes{};
  std::vector<Mirror> mirrors{};
  std::string metrics{};                       // HOST:PORT of a page; empty: there is none
  CarrierChoice carrier = CarrierChoice::tls;  // of the listener, all routes and mirrors
};

class Courier {
 public:
  // Errors: MutualTls::load()'s and PeerListener::open()'s. Whether others can be reached is not
  // looked at: that is tried for as long as it takes, as is the keeper.
  [[nodiscard]] static Result<std::unique_ptr<Courier>> start(CourierOptions options, Say say);
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  // Reads certificates again, for connections from now on.
  [[nodiscard]] Result<void> reload() { return identity_->reload(); }
  [[nodiscard]] int port() const { return listener_ == nullptr ? 0 : listener_->port(); }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  // Connections to others, of routes and mirrors; and of these, where UCX moves the bytes.
  struct Up {
    std::size_t all = 0, over_ucx = 0;
  };
  [[nodiscard]] Up connections_up() const;
  // The port of the page of metrics; 0: there is none.
  [[nodiscard]] int metrics_port() const { return page_ == nullptr ? 0 : page_->port(); }

 private:
  Courier(CourierOptions options, Say say, std::unique_ptr<MutualTls> identity, UniqueFd stop)
      : options_(std::move(options)),
        say_(std::move(say)),
        identity_(std::move(identity)),
        stop_(std::move(stop)) {}

  const CourierOptions options_;
  const Say say_;
  const std::unique_ptr<MutualTls> identity_;
  const UniqueFd stop_;
  Counters counters_;
  std::list<RouteState> states_;  // one for each route, then for each mirror
  std::unique_ptr<MetricsPage> page_;
  std::unique_ptr<PeerListener> listener_;
  std::list<Sender> senders_;
  std::list<MirrorSender> mirrors_;
  std::vector<std::thread> threads_;
};

}  // namespace aqua::courier
