// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/simulate_sharing.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/simulate/simulate_rows.hpp"
#include "tools/cli/simulate/simulate_setup.hpp"
#include "tools/sim/share/models.hpp"

namespace aqua::tool {
namespace {

using nlohmann::json;

// A way's outcomes, one a seed.
struct Row {
  std::string way;
  std::vector<sim::ModelsOutcome> outcomes;

  [[nodiscard]] sim::Interval within_sla() const {
    std::vector<double> all;
    for (const sim::ModelsOutcome& outcome : outcomes) all.push_back(outcome.within_sla);
    return sim::confidence(all);
  }
  // The mean number of changes of shares.
  [[nodiscard]] double changes() const {
    double sum = 0;
    for (const sim::ModelsOutcome& outcome : outcomes) sum += static_cast<double>(outcome.changes);
    return sum / static_cast<double>(outcomes.size());
  }
  // A figure of the worst model, over all seeds.
  [[nodiscard]] double worst(double sim::Metrics::*field) const {
    double worst = 0;
    for (const sim::ModelsOutcome& outcome : outcomes) {
      for (const sim::Metrics& model : outcome.models) worst = std::max(worst, model.*field);
    }
    return worst;
  }
};

json to_json(const Row& row) {
  const sim::Interval within = row.within_sla();
  json all{{"way", row.way}, {"within_sla", within.mean}, {"half_width", within.half_width}};
  for (const sim::ModelsOutcome& outcome : row.outcomes) {
    json seed{{"within_sla", outcome.within_sla},
              {"requests", outcome.requests},
              {"changes", outcome.changes}};
    for (const sim::Metrics& model : outcome.models) seed["models"].push_back(metrics_json(model));
    all["seeds"].push_back(std::move(seed));
  }
  return all;
}

std::string table(const SimulateOptions& options, const sim::ModelsShape& shape,
                  const std::vector<Row>& rows) {
  std::ostringstream out;
  out << shape.models << " models on one GPU, " << shape.per_second
      << " requests/s for all of them, popularity (i + 1)^-" << shape.skew
      << ", turned round at half time\nSLA: first token within " << options.sla.ttft_s
      << " s, then one each " << options.sla.tpot_s * 1e3 << " ms\n\n"
      << std::left << std::setw(22) << "way" << std::right << std::setw(16) << "within SLA, %"
      << std::setw(22) << "worst TTFT p99, s" << std::setw(22) << "worst TPOT p99, ms"
      << std::setw(10) << "changes" << '\n';
  for (const Row& row : rows) {
    const sim::Interval within = row.within_sla();
    std::ostringstream percent;
    percent << std::fixed << std::setprecision(1) << within.mean * 100;
    if (row.outcomes.size() > 1) percent << " ± " << within.half_width * 100;
    out << std::left << std::setw(22) << row.way << std::right << std::setw(16) << percent.str()
        << std::fixed << std::setprecision(2) << std::setw(22)
        << row.worst(&sim::Metrics::ttft_p99_s) << std::setw(22)
        << row.worst(&sim::Metrics::tpot_p99_s) * 1e3 << std::setprecision(0) << std::setw(10)
        << row.changes() << '\n';
  }
  return std::move(out).str();
}

}  // namespace

Result<std::string> run_sharing(const SimulateOptions& options, const sim::Trace& trace,
                                report::ProgressLine& bar) {
  AQUA_ASSIGN(sim::Ground ground, ground_of(options));
  AQUA_TRY(can_be_met(options.sla, ground));
  sim::ModelsShape shape{.models = options.share, .skew = options.skew};
  ground.sources.push_back({"memory bandwidth of a phase", "assumed", "prefill 0.3, decode 0.8"});
  if (options.measured_interference) {
    shape.profile = sim::measured_on_h100();
    ground.sources.push_back({"speed with part of the multiprocessors, and beside the other phase",
                              "measured", "green contexts of an H100; decode as a loop of reads"});
  } else {
    ground.sources.push_back({"speed with part of the multiprocessors", "assumed",
                              "prefill in proportion, decode full from 0.4 on (after MuxServe)"});
  }
  shape.seconds = options.share_seconds;
  if (options.rate) {
    shape.per_second = *options.rate;
  } else {
    AQUA_ASSIGN(shape.per_second, stable_rate(ground, trace, options.sla));
  }
  std::vector<Row> rows;
  const auto ways = sim::ways_to_share(shape);
  for (const sim::WayToShare& way : ways) {
    rows.push_back({.way = way.name, .outcomes = {}});
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
      bar.show(way.name, seed - 1, options.seeds);
      AQUA_ASSIGN(auto outcome, sim::share_gpu(ground, trace, shape, way, options.sla, seed));
      rows.back().outcomes.push_back(std::move(outcome));
    }
  }
  if (!options.json) return table(options, shape, rows) + sources_text(ground);
  json all{{"models", shape.models},
           {"skew", shape.skew},
           {"interference", options.measured_interference ? "measured" : "assumed"},
           {"requests_per_second", shape.per_second},
           {"seconds", shape.seconds},
           {"sources", sources_json(ground)}};
  for (const Row& row : rows) all["ways"].push_back(to_json(row));
  return all.dump(2) + "\n";
}

}  // namespace aqua::tool
