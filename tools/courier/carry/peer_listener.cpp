// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/carry/peer_listener.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"
#include "tools/courier/carry/receiver.hpp"
#include "tools/courier/mirror/mirror_receiver.hpp"
#include "tools/courier/net/carrier_talk.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::courier {
namespace {

// A Hello or a MirrorHello.
Result<Message> read_hello(Link& link) {
  AQUA_ASSIGN(Link::Frame frame, link.receive());
  std::uint32_t version = 0;
  if (frame.message) {
    if (const auto* hello = std::get_if<Hello>(&*frame.message)) version = hello->version;
    if (const auto* hello = std::get_if<MirrorHello>(&*frame.message)) version = hello->version;
  }
  if (version == 0) return Error{Code::invalid_argument, "courier: no hello"};
  if (version == kVersion) return *std::move(frame.message);
  return Error{Code::failed_precondition,
               concat("courier: who connected speaks version ", version, ", and we ", kVersion)};
}

}  // namespace

Result<std::unique_ptr<PeerListener>> PeerListener::open(PeerListenerOptions options,
                                                         std::string keeper,
                                                         const MutualTls& identity,
                                                         Counters& counters, Say say) {
  AQUA_ASSIGN(UniqueFd socket, listen_at(options.address));
  AQUA_ASSIGN(UniqueFd stop, make_wake_event());
  std::unique_ptr<PeerListener> listener(new PeerListener(std::move(options), std::move(keeper),
                                                          identity, counters, std::move(say),
                                                          std::move(socket), std::move(stop)));
  listener->thread_ = std::thread([of = listener.get()] { of->listen(); });
  return listener;
}

PeerListener::~PeerListener() {
  signal_event(stop_.get());
  thread_.join();
  claims_.end();
  std::list<Visit> left;
  {
    const MutexLock lock(mu_);
    left.swap(visits_);
    for (const Visit& visit : left) signal_event(visit.stop.get());
  }
  for (Visit& visit : left) visit.thread.join();
}

int PeerListener::port() const {
  return port_of(socket_.get());
}

void PeerListener::listen() {
  for (;;) {
    auto socket = accept_next(socket_.get(), stop_.get());
    if (socket.ok()) {
      sweep();
      begin(*std::move(socket));
      continue;
    }
    if (socket.error().code == Code::cancelled) return;
    say_(Event::trouble, socket.error().message);  // no descriptor is left: until one is
    const auto rested = wait_until(stop_.get(), 0, std::chrono::seconds(1), stop_.get());
    if (!rested.ok() && rested.error().code == Code::cancelled) return;
  }
}

void PeerListener::begin(UniqueFd socket) {
  auto stop = make_wake_event();
  if (!stop.ok()) return say_of_stranger(stop.error().message);
  const MutexLock lock(mu_);
  const auto is_strange = [](const Visit& visit) {
    return !visit.greeted && !visit.ends && !visit.over;
  };
  const auto strangers = std::ranges::count_if(visits_, is_strange);
  if (static_cast<std::size_t>(strangers) >= options_.connections) {
    Visit& longest = *std::ranges::find_if(visits_, is_strange);
    longest.ends = true;
    signal_event(longest.stop.get());
  }
  if (visits_.size() >= 3 * options_.connections) return;  // those that were told to end are slow
  Visit& visit = visits_.emplace_back();
  visit.stop = *std::move(stop);
  try {
    // The socket is the thread's, or closed if there is none.
    visit.thread =
        std::thread([this, &visit, owned = std::make_shared<UniqueFd>(std::move(socket))] {
          serve_visit(std::move(*owned), visit);
        });
  } catch (const std::system_error& error) {
    say_(Event::trouble, concat("no thread for a connection: ", error.what()));
    visits_.pop_back();
  }
}

void PeerListener::sweep() {
  std::list<Visit> over;
  {
    const MutexLock lock(mu_);
    for (auto at = visits_.begin(); at != visits_.end();) {
      const auto next = std::next(at);
      if (at->over) over.splice(over.end(), visits_, at);
      at = next;
    }
  }
  for (Visit& visit : over) visit.thread.join();
}

void PeerListener::serve_visit(UniqueFd socket, Visit& visit) {
  std::string who;
  const auto served = serve(std::move(socket), visit, who);
  if (served.error().code != Code::cancelled) {
    if (who.empty()) {
      say_of_stranger(concat("somebody: ", served.error().message));
    } else {
      say_(Event::visitor_lost, concat(who, ": ", served.error().message));
    }
  }
  const MutexLock lock(mu_);
  visit.over = true;
}

void PeerListener::say_of_stranger(const std::string& what) {
  {
    const MutexLock lock(mu_);
    const auto now = std::chrono::steady_clock::now();
    if (now - last_stranger_ < std::chrono::seconds(1)) return;
    last_stranger_ = now;
  }
  say_(Event::trouble, what);
}

Result<void> PeerListener::greet(Visit& visit) {
  const MutexLock lock(mu_);
  const auto peers =
      std::ranges::count_if(visits_, [](const Visit& each) { return each.greeted && !each.over; });
  if (static_cast<std::size_t>(peers) >= options_.connections) {
    return Error{Code::resource_exhausted, concat("courier: there are ", peers, " connections")};
  }
  visit.greeted = true;
  return {};
}

Result<void> PeerListener::serve(UniqueFd socket, Visit& visit, std::string& who) {
  const int stop = visit.stop.get();
  AQUA_ASSIGN(Link link, Link::accept(identity_, std::move(socket), options_.peers, stop));
  who = link.peer();
  const auto refuse = [&](const Error& why) -> Result<void> {
    (void)link.say(Refused{0, why});
    return why;
  };
  const auto hello = read_hello(link);
  if (!hello.ok()) return refuse(hello.error());
  link.greeted(options_.patience);
  if (const auto greeted = greet(visit); !greeted.ok()) return refuse(greeted.error());
  // Only the latest connection of a kind counts. `work` begins when all that the one before it had
  // of the keeper's has been given back.
  const auto serve_claimed = [&](const std::string& kind, const std::string& what,
                                 const std::optional<UcxPoint>& ucx, auto keeper_of,
                                 const auto& work) -> Result<void> {
    AQUA_TRY(claims_.claim(kind, stop));
    const auto end = [&](const Error& why) -> Result<void> {
      if (why.code == Code::unavailable) return why;
      if (why.code == Code::cancelled && claims_.is_awaited(kind)) {
        return refuse({Code::cancelled, concat("courier: another courier of ", who,
                                               " has taken this connection's place")});
      }
      return refuse(why);
    };
    auto received = [&]() -> Result<void> {
      auto keeper = keeper_of();
      if (!keeper.ok()) return refuse(keeper.error());
      const auto how = welcome(link, options_.carrier, ucx);
      if (!how.ok()) return end(how.error());
      const std::uint64_t over_ucx = link.is_over_tls() ? 0 : 1;
      ++counters_.links_in;
      counters_.ucx_links_in += over_ucx;
      say_(Event::visitor, concat("connected from ", who, " ", what, *how));
      const auto served = work(*std::move(keeper));
      --counters_.links_in;
      counters_.ucx_links_in -= over_ucx;
      ++counters_.lost_links;
      return end(served.error());
    }();
    claims_.release(kind);
    return received;
  };
  const auto* const route = std::get_if<Hello>(&*hello);
  if (route == nullptr) {
    if (!options_.copies) {
      return refuse({Code::permission_denied, "courier: no copies are taken here (listen.copies)"});
    }
    return serve_claimed(
        concat(link.peer(), "\n"), "with copies", std::get<MirrorHello>(*hello).ucx,
        [&] { return KeeperSegments::join(keeper_); },
        [&](KeeperSegments keeper) {
          return MirrorReceiver(link, std::move(keeper), counters_, stop).serve();
        });
  }
  const auto& pools = options_.pools;
  if (!pools.empty() && std::ranges::find(pools, route->pool) == pools.end()) {
    return refuse({Code::permission_denied, concat("courier: pool '", in_a_line(route->pool),
                                                   "' is not for other servers")});
  }
  return serve_claimed(
      concat(link.peer(), "\n", route->pool, "\n", route->from, "\n", route->to, "\n",
             route->index),
      concat("for ", route->pool), route->ucx,
      [&] { return KeeperSide::join(keeper_, route->pool, route->from, ParcelBook::Courier{}); },
      [&](KeeperSide keeper) {
        return Receiver(link, std::move(keeper), *route, counters_, stop).serve();
      });
}

}  // namespace aqua::courier
