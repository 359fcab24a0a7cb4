// SPDX-License-Identifier: Apache-2.0
#include "tools/router/observe/metrics.hpp"

#include <limits>

#include "tools/http/metric_families.hpp"

namespace aqua::router {
namespace {

using http::Families;
using migration::Kind;
using prometheus::ClientMetric;
using prometheus::MetricType;

ClientMetric times_of(const Counters::Times& times, const char* kind) {
  ClientMetric metric;
  metric.label = {{"kind", kind}};
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < times.counts.size(); ++i) {
    sum += times.counts[i];
    const double bound =
        i < Counters::kTimes.size() ? Counters::kTimes[i] : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({sum, bound});
  }
  metric.histogram.sample_count = sum;
  metric.histogram.sample_sum = static_cast<double>(times.microseconds) / 1e6;
  return metric;
}

void add_engines(Families& families, const std::vector<EngineView>& engines) {
  const auto each = [&](const char* name, const char* help, auto value) {
    families.begin(name, help, MetricType::Gauge);
    for (const EngineView& engine : engines)
      families.add(static_cast<double>(value(engine)), {{"engine", engine.name}});
  };
  each("aqua_router_engine_up", "1 where the engine answers.",
       [](const EngineView& engine) { return engine.state != "down"; });
  each("aqua_router_engine_requests", "Requests on the engine.",
       [](const EngineView& engine) { return engine.requests; });
  each("aqua_router_engine_held_tokens", "Tokens of KV that requests hold on it, as counted here.",
       [](const EngineView& engine) { return engine.held_tokens; });
  each("aqua_router_engine_usable_tokens", "Tokens of KV that may be filled on it.",
       [](const EngineView& engine) { return engine.usable_tokens; });
  families.begin("aqua_router_engine_faults_total", "Attempts that ended badly, by kind.",
                 MetricType::Counter);
  for (const EngineView& engine : engines) {
    for (std::size_t i = 0; i < engine.faults.size(); ++i) {
      families.add(static_cast<double>(engine.faults[i]),
                   {{"engine", engine.name}, {"kind", kFaultNames[i]}});
    }
  }
}

}  // namespace

std::string render_metrics(const Counters& counters, const FleetCounts& fleet,
                           const std::vector<EngineView>& engines) {
  Families families;
  const auto number = [](const auto& count) { return static_cast<double>(count); };
  families.begin("aqua_router_requests_total", "Requests that ended, by outcome.",
                 MetricType::Counter);
  families.add(number(counters.answered), {{"outcome", "answered"}});
  families.add(number(counters.failed), {{"outcome", "failed"}});
  families.add(number(counters.gone), {{"outcome", "client_gone"}});
  families.add(number(counters.refused), {{"outcome", "refused"}});
  families.begin("aqua_router_requests", "Requests that are here.", MetricType::Gauge);
  families.add(number(fleet.requests));
  families.begin("aqua_router_requests_waiting", "Of these, those that no engine has.",
                 MetricType::Gauge);
  families.add(number(fleet.waiting));
  families.begin("aqua_router_tokens_total", "Tokens that passed to clients.", MetricType::Counter);
  families.add(number(counters.tokens));
  families.begin("aqua_router_late_tokens_total", "Tokens of attempts that nobody heard any more.",
                 MetricType::Counter);
  families.add(number(counters.late_tokens));
  families.begin("aqua_router_slow_readers_total",
                 "Requests ended because their client was too far behind.", MetricType::Counter);
  families.add(number(counters.slow_readers));
  families.begin("aqua_router_moves_total", "Moves that are over, by outcome.",
                 MetricType::Counter);
  for (const Kind kind : kMoveKinds) {
    families.add(number(fleet.moves.of(kind, MoveEnd::done)),
                 {{"kind", name_of(kind)}, {"outcome", "done"}});
    families.add(number(fleet.moves.of(kind, MoveEnd::ended)),
                 {{"kind", name_of(kind)}, {"outcome", "ended"}});
    families.add(number(fleet.moves.failed(kind)),
                 {{"kind", name_of(kind)}, {"outcome", "failed"}});
  }
  families.begin("aqua_router_move_failures_total", "Moves that failed, by reason.",
                 MetricType::Counter);
  for (const Kind kind : kMoveKinds) {
    for (const MoveEnd end : kMoveFailures) {
      families.add(number(fleet.moves.of(kind, end)),
                   {{"kind", name_of(kind)}, {"reason", name_of(end)}});
    }
  }
  const auto times = [&](const char* name, const char* help, const auto& of) {
    families.begin(name, help, MetricType::Histogram);
    for (const Kind kind : kMoveKinds)
      families.add(times_of(of[static_cast<std::size_t>(kind)], name_of(kind)));
  };
  times("aqua_router_move_seconds", "From the order of a move until another engine speaks.",
        counters.moves);
  times("aqua_router_move_pause_seconds",
        "From a client's last token before a move to its first after.", counters.pauses);
  families.begin("aqua_router_recoveries_total",
                 "Requests that were given another place because their attempt died.",
                 MetricType::Counter);
  families.add(number(fleet.recoveries));
  families.begin("aqua_router_sweeps_waiting",
                 "Parcels of moves that no engine has been found to end yet.", MetricType::Gauge);
  families.add(number(fleet.sweeps));
  families.begin("aqua_router_oldest_sweep_seconds",
                 "For how long the oldest of them has been looked for.", MetricType::Gauge);
  families.add(std::chrono::duration<double>(fleet.oldest_sweep).count());
  families.begin("aqua_router_sweeps_forgotten_total",
                 "Parcels of moves that are not looked for any more: there were too many.",
                 MetricType::Counter);
  families.add(number(fleet.sweeps_forgotten));
  families.begin("aqua_router_plans_total", "Plans that the packer made.", MetricType::Counter);
  families.add(number(fleet.plans));
  add_engines(families, engines);
  return families.text();
}

}  // namespace aqua::router
