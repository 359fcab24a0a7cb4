// SPDX-License-Identifier: Apache-2.0
// One reclaim that takes a slab from every client at once: how long until each has read of it.
#include <cstdio>
#include <deque>

#include "coordinator_bench/parts.hpp"
#include "coordinator_bench/session.hpp"
#include "coordinator_bench/watcher.hpp"
#include "samples.hpp"
#include "wire/codec.hpp"
#include "wire/slabs.hpp"

namespace aqua::bench {
namespace {

using nlohmann::json;

class FanOut {
 public:
  FanOut(const Coordinator& daemon, std::size_t clients)
      : server_(server_of(daemon)), producer_(daemon.directory(), Session::Part::producer, "all") {
    while (consumers_.size() < clients) {
      const Session& consumer =
          consumers_.emplace_back(daemon.directory(), Session::Part::consumer, "all");
      watchers_.emplace_back(http_, server_, consumer);
    }
  }

  // How long each client took, in milliseconds from the reclaim.
  std::vector<double> round() {
    const auto count = static_cast<std::uint32_t>(consumers_.size());
    producer_.offer(first_, count);
    std::vector<wire::Return> leases;
    for (const Session& consumer : consumers_)
      leases.push_back({{producer_.id(), consumer.borrow(1)}, 1});
    std::vector<double> delays = revoke();
    wire::ScrubbedRequest scrubbed;
    for (std::uint32_t i = 0; i < count; ++i) {
      consumers_[i].call("POST", "/v1/leases/return",
                         wire::encode(wire::ReturnRequest{{leases[i]}}));
      scrubbed.slabs.push_back({first_ + i, 1, random_id<LeaseTag>()});
    }
    producer_.call("POST", "/v1/offers/scrubbed", wire::encode(scrubbed));
    first_ += count;
    return delays;
  }

 private:
  std::vector<double> revoke() {
    std::vector<double> delays;
    Clock::time_point sent;
    for (Watcher& watcher : watchers_) {
      watcher.wait([&](Clock::time_point at) {
        delays.push_back(std::chrono::duration<double, std::milli>(at - sent).count());
      });
    }
    // Until all of them wait there.
    while (number_in_metrics() < watchers_.size()) http_.turn(Clock::now() + kLook);
    const wire::ReclaimRequest request{consumers_.size() * Session::kSlabBytes,
                                       std::chrono::minutes{1}};
    const std::string text = producer_.request("POST", "/v1/reclaims", wire::encode(request));
    sent = Clock::now();
    http_.ask(server_.address, text, [](const Reply&) {});
    while (http_.in_flight() > 0) http_.turn(Clock::now() + std::chrono::seconds{60});
    return delays;
  }
  [[nodiscard]] std::size_t number_in_metrics() const {
    constexpr std::string_view kWaiting = "\naqua_watches ";
    const std::string text = producer_.call("GET", "/metrics");
    const std::size_t at = text.find(kWaiting);
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + kWaiting.size()));
  }

  static constexpr std::chrono::milliseconds kLook{1};
  HttpLoop http_;
  const Server server_;
  const Session producer_;
  std::deque<Session> consumers_;
  std::deque<Watcher> watchers_;
  std::uint32_t first_ = 0;  // slab of the next round
};

}  // namespace

json measure_fan_out(const BenchOptions& options) {
  const Coordinator daemon(options.binary,
                           daemon_arguments({"--share-producers", "--max-watches", "2048"}),
                           options.directory);
  FanOut fan_out(daemon, options.clients);
  std::vector<double> all;
  std::vector<double> last;
  for (std::size_t round = 0; round < 4 * options.rounds; ++round) {
    std::fprintf(stderr, "fan-out: round %zu of %zu\n", round + 1, 4 * options.rounds);
    const std::vector<double> delays = fan_out.round();
    all.insert(all.end(), delays.begin(), delays.end());
    last.push_back(quantile(delays, 1));
  }
  return {{"watchers", options.clients},
          {"median_ms", median(all)},
          {"p99_ms", quantile(all, 0.99)},
          {"last_median_ms", median(last)}};
}

}  // namespace aqua::bench
