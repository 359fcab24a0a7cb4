// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/program.hpp"

#include <cmath>

namespace aqua::place {

LinearProgram pattern_program(const Kinds& kinds, const std::vector<Pattern>& patterns,
                              const std::function<bool(std::size_t)>& admitted,
                              const std::function<double(std::size_t)>& cost) {
  LinearProgram program;
  for (const UnitType& type : kinds.types) {
    const auto units = static_cast<double>(type.units.size());
    program.rows.push_back({units, units});
  }
  for (const ModelClass& c : kinds.classes) {
    const auto models = static_cast<double>(c.models.size());
    program.rows.push_back({models, models});
  }
  const int types = static_cast<int>(kinds.types.size());
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    LinearProgram::Column column;
    const auto type = static_cast<std::size_t>(patterns[p].type);
    column.upper = admitted(p) ? static_cast<double>(kinds.types[type].units.size()) : 0;
    column.cost = cost(p);
    column.entries.emplace_back(patterns[p].type, 1);
    for (const auto& [c, n] : patterns[p].counts) column.entries.emplace_back(types + c, n);
    program.columns.push_back(std::move(column));
  }
  return program;
}

std::vector<int> rounded(const std::vector<double>& values) {
  std::vector<int> whole;
  whole.reserve(values.size());
  for (const double value : values) whole.push_back(static_cast<int>(std::lround(value)));
  return whole;
}

LinearProgram naive_program(const Cluster& cluster) {
  LinearProgram program;
  const std::size_t servers = cluster.servers().size();
  const std::size_t units = cluster.units().size();
  const std::size_t models = cluster.models().size();
  const auto scale = static_cast<double>(cluster.largest_hbm());
  // Rows: capacity of servers (3), then for each unit z >= +-M +-N (6), each model once (1),
  // groups.
  for (const Server& server : cluster.servers()) {
    program.rows.push_back({0, static_cast<double>(server.gpus)});
  }
  program.rows.resize(servers + 4 * units, {-kInfinity, 0});
  program.rows.resize(servers + 4 * units + models, {1, 1});
  const std::size_t groups = program.rows.size();
  program.rows.resize(groups + static_cast<std::size_t>(cluster.groups()) * servers, {0, 1});
  for (std::size_t m = 0; m < models; ++m) {
    const Model& model = cluster.models()[m];
    const double bytes = static_cast<double>(model.bytes) * model.shards / scale;
    for (std::size_t s = 0; s < servers; ++s) {
      LinearProgram::Column column;
      const int fixed = cluster.fixed(static_cast<int>(m));
      column.upper = fixed < 0 || fixed == static_cast<int>(s) ? 1 : 0;
      column.entries.emplace_back(static_cast<int>(s), model.shards);
      const auto u = static_cast<std::size_t>(cluster.unit_of(static_cast<int>(s)));
      const double net = static_cast<double>(cluster.units()[u].hbm_bytes) / scale *
                         sign_of(model.bytes) * model.shards;
      const double parts[] = {bytes + net, bytes - net, -bytes + net, -bytes - net};
      for (std::size_t i = 0; i < 4; ++i) {
        if (parts[i] != 0) {
          column.entries.emplace_back(static_cast<int>(servers + 4 * u + i), parts[i]);
        }
      }
      column.entries.emplace_back(static_cast<int>(servers + 4 * units + m), 1);
      const int group = cluster.apart(static_cast<int>(m));
      if (group >= 0) {
        const std::size_t row = groups + static_cast<std::size_t>(group) * servers + s;
        column.entries.emplace_back(static_cast<int>(row), 1);
      }
      program.columns.push_back(std::move(column));
    }
  }
  LinearProgram::Column bottleneck{.cost = 1, .integer = false};
  for (std::size_t row = servers; row < servers + 4 * units; ++row) {
    bottleneck.entries.emplace_back(static_cast<int>(row), -1);
  }
  program.columns.push_back(std::move(bottleneck));
  return program;
}

Assignment naive_assignment(const Cluster& cluster, const std::vector<double>& values) {
  Assignment assignment(cluster.models().size(), -1);
  const std::size_t servers = cluster.servers().size();
  for (std::size_t x = 0; x + 1 < values.size(); ++x) {
    if (values[x] > 0.5) assignment[x / servers] = static_cast<int>(x % servers);
  }
  return assignment;
}

}  // namespace aqua::place
