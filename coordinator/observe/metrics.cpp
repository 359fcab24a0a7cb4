// SPDX-License-Identifier: Apache-2.0
#include "coordinator/observe/metrics.hpp"

#include <prometheus/text_serializer.h>

#include <string_view>

#include "coordinator/observe/gauge_families.hpp"

namespace aqua::coordinator {
namespace {

using ledger::SlabEvent;
using ledger::SlabState;
using prometheus::Counter;
using prometheus::Histogram;

// Reclaims take from a millisecond to their deadline.
const Histogram::BucketBoundaries kReclaimSeconds{
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
// A renewal takes tens of microseconds, a watch up to a minute.
const Histogram::BucketBoundaries kRequestSeconds{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
                                                  0.005,   0.01,   0.025,   0.05,   0.1,   0.25,
                                                  0.5,     1,      5,       30,     60};

Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({},
                                                                                   kReclaimSeconds);
}

constexpr std::array kOutcomes{"complete", "partial", "dropped"};

std::string_view known_method(std::string_view method) {
  for (const std::string_view known : {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"}) {
    if (method == known) return known;
  }
  return "other";
}

double seconds(ledger::Time time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Metrics::Metrics(const std::string& version)
    : evictions_(counter(registry_, "aqua_evictions_total",
                         "Slabs that a holder was told to give up for a reclaim.")),
      evicted_bytes_(counter(registry_, "aqua_evicted_bytes_total",
                             "Bytes of slabs that a holder was told to give up for a reclaim.")),
      slab_return_(histogram(registry_, "aqua_reclaim_slab_seconds",
                             "From the start of a reclaim until a slab was back, scrubbed.")),
      reclaim_duration_(histogram(registry_, "aqua_reclaim_duration_seconds",
                                  "From the start of a reclaim until all was back or its "
                                  "deadline came.")),
      requests_(prometheus::BuildCounter()
                    .Name("aqua_http_requests_total")
                    .Help("HTTP requests answered.")
                    .Register(registry_)),
      in_flight_(prometheus::BuildGauge()
                     .Name("aqua_http_requests_in_flight")
                     .Help("HTTP requests being served.")
                     .Register(registry_)),
      durations_(prometheus::BuildHistogram()
                     .Name("aqua_http_request_duration_seconds")
                     .Help("From a request's last header to the last byte of its reply.")
                     .Register(registry_)) {
  auto& changes = prometheus::BuildCounter()
                      .Name("aqua_slab_changes_total")
                      .Help("What happened to slabs, by event of the ledger's table.")
                      .Register(registry_);
  auto& bytes = prometheus::BuildCounter()
                    .Name("aqua_slab_changed_bytes_total")
                    .Help("Bytes of the slabs that it happened to.")
                    .Register(registry_);
  for (const SlabEvent event : ledger::kSlabEvents) {
    const std::string name(to_string(event));
    changes_[static_cast<std::size_t>(event)] = &changes.Add({{"event", name}});
    changed_bytes_[static_cast<std::size_t>(event)] = &bytes.Add({{"event", name}});
  }
  auto& reclaims = prometheus::BuildCounter()
                       .Name("aqua_reclaims_total")
                       .Help("Reclaims that ended, by outcome.")
                       .Register(registry_);
  for (std::size_t i = 0; i < kOutcomes.size(); ++i)
    reclaims_[i] = &reclaims.Add({{"outcome", kOutcomes[i]}});
  auto& errors = prometheus::BuildCounter()
                     .Name("aqua_errors_total")
                     .Help("Requests refused, by code.")
                     .Register(registry_);
  for (std::size_t i = 0; i < errors_.size(); ++i)
    errors_[i] = &errors.Add({{"code", std::string(to_string(static_cast<Code>(i)))}});
  prometheus::BuildGauge()
      .Name("aqua_build_info")
      .Help("1, with the version of this daemon.")
      .Register(registry_)
      .Add({{"version", version}})
      .Set(1);
}

void Metrics::changed(const ledger::SlabChange& change) {
  const auto event = static_cast<std::size_t>(change.event);
  const auto bytes = static_cast<double>(change.bytes);
  changes_[event]->Increment();
  changed_bytes_[event]->Increment(bytes);
  const bool evicted = change.event == SlabEvent::reclaim && is_held(change.from) &&
                       change.from != SlabState::revoking;
  if (!evicted) return;
  evictions_.Increment();
  evicted_bytes_.Increment(bytes);
}

void Metrics::slab_came_back(ledger::Time after) {
  slab_return_.Observe(seconds(after));
}

void Metrics::reclaim_ended(const ledger::ReclaimEnd& end) {
  const std::size_t outcome = end.dropped ? 2 : end.reclaim.outstanding.empty() ? 0 : 1;
  reclaims_[outcome]->Increment();
  if (!end.dropped) reclaim_duration_.Observe(seconds(end.reclaim.ended - end.reclaim.started));
}

void Metrics::add_route(std::string_view route) {
  const prometheus::Labels labels{{"route", std::string(route)}};
  RouteNumbers& numbers = routes_[std::string(route)];
  numbers.in_flight = &in_flight_.Add(labels);
  numbers.durations = &durations_.Add(labels, kRequestSeconds);
}

void Metrics::request_began(std::string_view route) {
  if (const auto numbers = routes_.find(route); numbers != routes_.end())
    numbers->second.in_flight->Increment();
}

void Metrics::request_ended(std::string_view route, std::string_view method, int status,
                            std::chrono::duration<double> took) {
  const auto found = routes_.find(route);
  if (found == routes_.end()) return;
  RouteNumbers& numbers = found->second;
  numbers.in_flight->Decrement();
  numbers.durations->Observe(took.count());
  const std::string_view known = known_method(method);
  const MutexLock lock(numbers.mu);
  prometheus::Counter*& requests = numbers.requests[{known, status}];
  if (requests == nullptr) {
    requests = &requests_.Add({{"route", std::string(route)},
                               {"method", std::string(known)},
                               {"status", std::to_string(status)}});
  }
  requests->Increment();
}

void Metrics::refused(Code code) {
  errors_[static_cast<std::size_t>(code)]->Increment();
}

std::string Metrics::render(const Gauges& gauges) const {
  auto families = registry_.Collect();
  append_gauges(families, gauges);
  append_process(families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace aqua::coordinator
