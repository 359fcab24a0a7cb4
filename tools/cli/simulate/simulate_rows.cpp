// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/simulate_rows.hpp"

#include <nlohmann/json.hpp>

#include "tools/sim/report/metric_fields.hpp"

namespace aqua::tool {
using nlohmann::json;

json metrics_json(const sim::Metrics& metrics) {
  json row;
  for (const sim::MetricField& field : sim::kMetricFields) {
    row[std::string(field.name)] = metrics.*field.field;
  }
  return row;
}

json sources_json(const sim::Ground& ground) {
  json rows = json::array();
  for (const sim::Source& source : ground.sources)
    rows.push_back({{"what", source.what}, {"label", source.label}, {"from", source.from}});
  return rows;
}

std::string sources_text(const sim::Ground& ground) {
  std::string text =
      "\n" + ground.scenario.model.name + " on " + ground.scenario.server.gpu.name + "\n";
  for (const sim::Source& source : ground.sources)
    text += source.what + ": " + source.label + " (" + source.from + ")\n";
  return text;
}

}  // namespace aqua::tool
