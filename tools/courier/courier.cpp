// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/courier.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"
#include "tools/courier/ucx/ucx_carrier.hpp"

namespace aqua::courier {

Result<std::unique_ptr<Courier>> Courier::start(CourierOptions options, Say say) {
  AQUA_ASSIGN(auto identity, MutualTls::load(options.files));
  prepare_ucx(options.carrier);
  AQUA_ASSIGN(UniqueFd stop, make_wake_event());
  std::unique_ptr<Courier> courier(
      new Courier(std::move(options), std::move(say), std::move(identity), std::move(stop)));
  const CourierOptions& given = courier->options_;
  for (const Route& route : given.routes)
    courier->states_.emplace_back(route.pool, route.peer, route.connections);
  for (const Mirror& mirror : given.mirrors) courier->states_.emplace_back("", mirror.peer, 1);
  if (!given.metrics.empty()) {
    AQUA_ASSIGN(courier->page_,
                MetricsPage::open(given.metrics, courier->counters_, courier->states_, given.keeper,
                                  *courier->identity_));
  }
  if (!given.listener.address.empty()) {
    AQUA_ASSIGN(courier->listener_,
                PeerListener::open(given.listener, given.keeper, *courier->identity_,
                                   courier->counters_, courier->say_));
  }
  auto state = courier->states_.begin();
  const auto telling = [&](std::string name) -> Say {
    return [say_to = courier->say_, name = std::move(name)](Event event, const std::string& what) {
      say_to(event, concat(name, ": ", what));
    };
  };
  for (const Route& route : given.routes) {
    const Say told = telling(concat(route.pool, " to ", route.peer));
    for (std::uint32_t i = 0; i < route.connections; ++i) {
      Sender& sender =
          courier->senders_.emplace_back(route, *state, i, given.keeper, *courier->identity_,
                                         courier->counters_, told, courier->stop_.get());
      courier->threads_.emplace_back([&sender] { sender.run(); });
    }
    ++state;
  }
  for (const Mirror& mirror : given.mirrors) {
    MirrorSender& sender = courier->mirrors_.emplace_back(
        mirror, *state++, given.keeper, *courier->identity_, courier->counters_,
        telling(concat("copies to ", mirror.peer)), courier->stop_.get());
    courier->threads_.emplace_back([&sender] { sender.run(); });
  }
  return courier;
}

Courier::Up Courier::connections_up() const {
  Up up;
  for (const RouteState& state : states_) {
    const RouteState::Now now = state.now();
    up.all += now.up;
    up.over_ucx += now.over_ucx;
  }
  return up;
}

Courier::~Courier() {
  signal_event(stop_.get());
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace aqua::courier
