// SPDX-License-Identifier: Apache-2.0
// Metrics are the coordinator's numbers as Prometheus reads them: docs/operate/metrics.md lists
// each with its meaning. Counters and histograms are kept here as things happen; what is only true
// now comes as Gauges, taken when somebody asks.
//
// Labels come from fixed sets (states, events, codes, routes), but for the names of clients in
// aqua_loan_bytes: of those the kMaxLoans largest are told apart, the rest is one "(other)".
//
// Threads: every method may be called concurrently. Nothing here waits for the ledger.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "coordinator/observe/tally.hpp"
#include "groups/types.hpp"
#include "ledger/changes.hpp"

namespace aqua::coordinator {

struct Gauges {
  Tally tally;
  std::array<std::array<std::uint64_t, 2>, 3> clients{};  // [producer, consumer, both][state]
  std::uint64_t draining = 0;
  std::uint64_t pairs = 0;
  std::uint64_t open_reclaims = 0;
  std::uint64_t missing_bytes = 0;  // of open reclaims
  std::uint64_t overdue_slabs = 0;  // outstanding of ended ones
  std::uint64_t idle_bytes = 0;     // offered, while who may borrow them was refused
  std::uint64_t last_event = 0;
  std::uint64_t watches = 0;
  std::uint64_t sessions = 0;
  std::array<std::uint64_t, groups::kStates.size()> groups{};  // by state
  std::uint64_t group_members = 0;
  std::uint64_t group_standbys = 0;
  std::uint64_t group_silent = 0;
  std::uint64_t group_terms = 0;       // begun since the start
  std::uint64_t group_recoveries = 0;  // ended since the start
  std::uint64_t group_watches = 0;
  std::uint64_t servers = 0;  // that are known, this one among them
  std::uint64_t server_failures = 0;
  bool servers_known = true;
  bool ready = false;
};

class Metrics {
 public:
  static constexpr std::size_t kMaxLoans = 128;

  explicit Metrics(const std::string& version);

  // --- the ledger ------------------------------------------------------------------------
  void changed(const ledger::SlabChange& change);
  void slab_came_back(ledger::Time after);  // since its reclaim began
  void reclaim_ended(const ledger::ReclaimEnd& end);

  // --- HTTP ------------------------------------------------------------------------------
  // Before the first request. Has the route's numbers there from the beginning, at 0.
  void add_route(std::string_view route);
  // `route` has been added.
  void request_began(std::string_view route);
  void request_ended(std::string_view route, std::string_view method, int status,
                     std::chrono::duration<double> took);
  void refused(Code code);

  // The text exposition format, version 0.0.4.
  [[nodiscard]] std::string render(const Gauges& gauges) const;

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  // Looked up here: finding them by their labels takes longer than many a request.
  struct RouteNumbers {
    prometheus::Gauge* in_flight = nullptr;
    prometheus::Histogram* durations = nullptr;
    Mutex mu;
    std::map<std::pair<std::string_view, int>, prometheus::Counter*> requests
        AQUA_GUARDED_BY(mu);  // by method and status
  };

  mutable prometheus::Registry registry_;  // Collect() is not const
  std::array<prometheus::Counter*, ledger::kSlabEvents.size()> changes_{};
  std::array<prometheus::Counter*, ledger::kSlabEvents.size()> changed_bytes_{};
  prometheus::Counter& evictions_;
  prometheus::Counter& evicted_bytes_;
  prometheus::Histogram& slab_return_;
  prometheus::Histogram& reclaim_duration_;
  std::array<prometheus::Counter*, 3> reclaims_{};
  std::array<prometheus::Counter*, static_cast<std::size_t>(Code::internal) + 1> errors_{};
  Counters& requests_;
  prometheus::Family<prometheus::Gauge>& in_flight_;
  prometheus::Family<prometheus::Histogram>& durations_;
  std::map<std::string, RouteNumbers, std::less<>> routes_;
};

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace aqua::coordinator
