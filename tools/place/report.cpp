// SPDX-License-Identifier: Apache-2.0
#include "tools/place/report.hpp"

#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/concat.hpp"

namespace aqua::place {
namespace {

using Json = nlohmann::json;

// Domain, or the server that is one by itself.
std::string unit_name(const Cluster& cluster, std::size_t unit) {
  const auto first = static_cast<std::size_t>(cluster.units()[unit].servers.front());
  const Server& server = cluster.servers()[first];
  return server.domain.empty() ? server.id : server.domain;
}

std::int64_t consumer_shards(const Cluster& cluster) {
  std::int64_t shards = 0;
  for (const Model& model : cluster.models()) shards += model.bytes < 0 ? model.shards : 0;
  return shards;
}

Bytes needed(const Cluster& cluster) {
  Bytes bytes = 0;
  for (const Model& model : cluster.models()) {
    if (model.bytes < 0) bytes -= model.bytes * model.shards;
  }
  return bytes;
}

Bytes largest_served(const Cluster& cluster, const Assignment& assignment) {
  return score_of(cluster, assignment).served;
}

}  // namespace

std::string shard_name(const Cluster& cluster, const ShardRef& shard) {
  const Model& model = cluster.model(shard.model);
  return model.shards == 1 ? model.id : concat(model.id, "/", shard.shard);
}

std::string render_json(const Cluster& cluster, const Placement& placement) {
  Json assignment = Json::object();
  Json moves = Json::array();
  for (std::size_t m = 0; m < placement.assignment.size(); ++m) {
    const auto server = static_cast<std::size_t>(placement.assignment[m]);
    const Model& model = cluster.models()[m];
    const std::string& to = cluster.servers()[server].id;
    assignment[model.id] = to;
    if (!model.current.empty() && model.current != to) {
      moves.push_back({{"model", model.id}, {"from", model.current}, {"to", to}});
    }
  }
  Json pairs = Json::array();
  Bytes served = 0;
  for (const Pair& pair : placement.pairs) {
    pairs.push_back({{"producer", shard_name(cluster, pair.producer)},
                     {"consumer", shard_name(cluster, pair.consumer)},
                     {"bytes", pair.bytes}});
    served += pair.bytes;
  }
  Json units = Json::array();
  const auto loads = loads_of(cluster, placement.assignment);
  for (std::size_t u = 0; u < loads.size(); ++u) {
    units.push_back({{"id", unit_name(cluster, u)},
                     {"bytes", loads[u].bytes},
                     {"net", loads[u].net},
                     {"objective", loads[u].value(cluster.units()[u].hbm_bytes)}});
  }
  const Json all{{"version", 1},
                 {"objective", placement.score.objective},
                 {"bound", placement.bound},
                 {"gap", placement.gap()},
                 {"optimal", placement.optimal()},
                 {"time_limit_hit", placement.time_limit_hit},
                 {"solver", placement.solver},
                 {"method", placement.method},
                 {"assignment", assignment},
                 {"pairs", pairs},
                 {"moves", moves},
                 {"served_bytes", served},
                 {"served_best", placement.served_best},
                 {"largest_matching_bytes", largest_served(cluster, placement.assignment)},
                 {"needed_bytes", needed(cluster)},
                 {"units", units}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string verdict(const Cluster& cluster, const Placement& placement) {
  const std::int64_t wanting = consumer_shards(cluster);
  if (wanting == 0) return "Nobody wants to borrow.";
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << placement.pairs.size() << " of " << wanting
      << " shards that want memory have a lender, and get " << gib(placement.score.served)
      << " of the " << gib(needed(cluster)) << " GiB that they want.";
  return std::move(out).str();
}

std::string render_text(const Cluster& cluster, const Placement& placement, bool explain) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2);
  out << verdict(cluster, placement) << "\n\n"
      << cluster.models().size() << " models, " << cluster.total_shards() << " shards, on "
      << cluster.total_gpus() << " GPUs of " << cluster.servers().size() << " servers\n"
      << "objective " << gib(placement.score.objective) << " GiB, bound " << gib(placement.bound)
      << " GiB, gap " << placement.gap() * 100 << " %"
      << (placement.optimal() ? " (proven optimal)" : "") << "\nfound by " << placement.method
      << ", solver " << placement.solver
      << (placement.time_limit_hit ? "; the time limit was hit" : "") << "\n"
      << placement.score.moves << " models move\n";
  if (!explain) return std::move(out).str();
  out << "\nobjective: the largest |M| + H|N| of a domain; M: bytes lent less bytes needed, N: "
         "producer shards less consumer shards\n"
      << "bound: no placement can be below it, by "
      << (placement.optimal() ? "the search over all server patterns, or sums that no placement "
                                "changes"
                              : "sums that no placement changes")
      << "\n";
  const auto loads = loads_of(cluster, placement.assignment);
  std::vector<std::vector<const Pair*>> pairs(loads.size());
  for (const Pair& pair : placement.pairs) {
    const int server = placement.assignment[static_cast<std::size_t>(pair.producer.model)];
    pairs[static_cast<std::size_t>(cluster.unit_of(server))].push_back(&pair);
  }
  for (std::size_t u = 0; u < loads.size(); ++u) {
    const Unit& unit = cluster.units()[u];
    out << '\n'
        << unit_name(cluster, u) << ": M " << gib(loads[u].bytes) << " GiB, N " << loads[u].net
        << ", " << gib(loads[u].value(unit.hbm_bytes)) << " GiB\n";
    for (std::size_t m = 0; m < placement.assignment.size(); ++m) {
      if (cluster.unit_of(placement.assignment[m]) != static_cast<int>(u)) continue;
      const Model& model = cluster.models()[m];
      const auto server = static_cast<std::size_t>(placement.assignment[m]);
      const std::string& id = cluster.servers()[server].id;
      out << "  " << model.id << " on " << id << ": " << model.shards << " x " << gib(model.bytes)
          << " GiB";
      if (!model.current.empty() && model.current != id) out << ", moves from " << model.current;
      if (!model.fixed.empty()) out << ", fixed";
      out << '\n';
    }
    for (const Pair* pair : pairs[u]) {
      out << "  " << shard_name(cluster, pair->producer) << " lends "
          << shard_name(cluster, pair->consumer) << ' ' << gib(pair->bytes) << " GiB\n";
    }
  }
  return std::move(out).str();
}

}  // namespace aqua::place
