// SPDX-License-Identifier: Apache-2.0
#include "coordinator/observe/gauge_families.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "coordinator/observe/metrics.hpp"

namespace aqua::coordinator {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<std::pair<std::string, std::string>>;

MetricFamily family(const char* name, const char* help, MetricType type = MetricType::Gauge) {
  MetricFamily made;
  made.name = name;
  made.help = help;
  made.type = type;
  return made;
}

void add(MetricFamily& to, std::uint64_t value, const Labels& labels = {}) {
  ClientMetric metric;
  for (const auto& [name, text] : labels) {
    ClientMetric::Label label;
    label.name = name;
    label.value = text;
    metric.label.push_back(std::move(label));
  }
  if (to.type == MetricType::Counter) {
    metric.counter.value = static_cast<double>(value);
  } else {
    metric.gauge.value = static_cast<double>(value);
  }
  to.metric.push_back(std::move(metric));
}

void append_one(std::vector<MetricFamily>& families, const char* name, const char* help,
                std::uint64_t value, MetricType type = MetricType::Gauge) {
  families.push_back(family(name, help, type));
  add(families.back(), value);
}

void append_slabs(std::vector<MetricFamily>& families, const Tally& tally) {
  auto slabs = family("aqua_slabs", "Slabs that producers have put up, by state.");
  auto bytes = family("aqua_slab_bytes", "Bytes of these slabs, by state: the peer tier.");
  for (const ledger::SlabState state : ledger::kSlabStates) {
    if (state == ledger::SlabState::returned) continue;
    const Labels labels{{"state", std::string(to_string(state))}};
    add(slabs, tally.of(state).slabs, labels);
    add(bytes, tally.of(state).bytes, labels);
  }
  families.push_back(std::move(slabs));
  families.push_back(std::move(bytes));
}

// Clients of one name are one row: a restarted engine has a new id and the old name.
void append_loans(std::vector<MetricFamily>& families, const Tally& tally) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> by_names;
  for (const auto& [pair, loan] : tally.loans())
    by_names[{loan.producer, loan.consumer}] += loan.bytes;
  std::vector<std::pair<std::uint64_t, std::pair<std::string, std::string>>> largest;
  largest.reserve(by_names.size());
  for (const auto& [names, bytes] : by_names) largest.emplace_back(bytes, names);
  std::ranges::sort(largest, std::greater{});
  auto loans = family("aqua_loan_bytes", "Bytes that a consumer holds of a producer.");
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < largest.size(); ++i) {
    const auto& [bytes, names] = largest[i];
    if (i < Metrics::kMaxLoans) {
      add(loans, bytes, {{"producer", names.first}, {"consumer", names.second}});
    } else {
      rest += bytes;
    }
  }
  if (rest > 0) add(loans, rest, {{"producer", "(other)"}, {"consumer", "(other)"}});
  families.push_back(std::move(loans));
}

void append_clients(std::vector<MetricFamily>& families, const Gauges& gauges) {
  constexpr const char* kRoles[] = {"producer", "consumer", "both"};
  auto clients = family("aqua_clients", "Clients that have joined, by role and state.");
  for (std::size_t role = 0; role < std::size(kRoles); ++role) {
    for (const auto state : {ledger::ClientState::live, ledger::ClientState::suspect}) {
      add(clients, gauges.clients[role][static_cast<std::size_t>(state)],
          {{"role", kRoles[role]}, {"state", std::string(to_string(state))}});
    }
  }
  families.push_back(std::move(clients));
}

void append_groups(std::vector<MetricFamily>& families, const Gauges& gauges) {
  auto all = family("aqua_groups", "Groups, by state.");
  for (const groups::State state : groups::kStates) {
    if (state == groups::State::closed) continue;
    add(all, gauges.groups[static_cast<std::size_t>(state)],
        {{"state", std::string(to_string(state))}});
  }
  families.push_back(std::move(all));
  append_one(families, "aqua_group_members", "Members of groups that have a rank.",
             gauges.group_members);
  append_one(families, "aqua_group_standbys", "Members that stand by.", gauges.group_standbys);
  append_one(families, "aqua_group_silent", "Members and standbys that are silent.",
             gauges.group_silent);
  append_one(families, "aqua_group_terms_total",
             "Terms begun because a rank had lost its member, since the start.", gauges.group_terms,
             MetricType::Counter);
  append_one(families, "aqua_group_recoveries_total",
             "Recoveries that ended with the group running, since the start.",
             gauges.group_recoveries, MetricType::Counter);
  append_one(families, "aqua_group_watches", "Long polls that wait for a change of a group.",
             gauges.group_watches);
}

}  // namespace

void append_gauges(std::vector<MetricFamily>& families, const Gauges& gauges) {
  append_slabs(families, gauges.tally);
  append_loans(families, gauges.tally);
  append_clients(families, gauges);
  append_one(families, "aqua_clients_draining", "Clients that an operator is draining.",
             gauges.draining);
  append_one(families, "aqua_pairs", "Pairs of a producer and a consumer.", gauges.pairs);
  append_one(families, "aqua_reclaims_open", "Reclaims that wait for slabs.", gauges.open_reclaims);
  append_one(families, "aqua_reclaim_missing_bytes", "Bytes that open reclaims wait for.",
             gauges.missing_bytes);
  append_one(families, "aqua_overdue_slabs", "Slabs not back after the deadline of a reclaim.",
             gauges.overdue_slabs);
  append_one(families, "aqua_idle_bytes",
             "Bytes that lenders offer while a consumer's last request was refused.",
             gauges.idle_bytes);
  append_one(families, "aqua_ledger_events_total", "Events told to clients since the start.",
             gauges.last_event, MetricType::Counter);
  append_one(families, "aqua_watches", "Long polls that wait for an event.", gauges.watches);
  append_one(families, "aqua_sessions", "Open sessions.", gauges.sessions);
  append_one(families, "aqua_ready", "1 while requests are taken, 0 while starting or stopping.",
             gauges.ready ? 1 : 0);
  append_groups(families, gauges);
  append_one(families, "aqua_servers", "Servers that are known to each other, this one included.",
             gauges.servers);
  append_one(families, "aqua_servers_known",
             "1 while the servers are known as they are now, 0 while etcd cannot be asked.",
             gauges.servers_known ? 1 : 0);
  append_one(families, "aqua_servers_failures_total",
             "Times that etcd could not be told or asked, since the start.", gauges.server_failures,
             MetricType::Counter);
}

}  // namespace aqua::coordinator
