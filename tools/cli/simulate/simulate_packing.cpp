// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/simulate_packing.hpp"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/simulate/simulate_rows.hpp"
#include "tools/cli/simulate/simulate_setup.hpp"
#include "tools/cli/write_file.hpp"
#include "tools/report/escape_html.hpp"
#include "tools/report/svg_plot.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/fleet/serve_fleet.hpp"

namespace aqua::tool {
namespace {

using nlohmann::json;

struct Row {
  std::string packer;
  std::vector<sim::FleetOutcome> outcomes;  // one a seed

  template <typename Figure>
  [[nodiscard]] sim::Interval of(Figure figure) const {
    std::vector<double> all;
    for (const sim::FleetOutcome& outcome : outcomes) {
      all.push_back(static_cast<double>(figure(outcome)));
    }
    return sim::confidence(all);
  }
};

struct Column {
  const char* name;  // in JSON
  const char* words;
  int digits;
  double (*figure)(const sim::FleetOutcome&);
};

constexpr Column kColumns[] = {
    {"gpu_hours", "GPU-hours", 2, [](const sim::FleetOutcome& is) { return is.gpu_hours; }},
    {"engines_used_mean", "used", 2, [](const sim::FleetOutcome& is) { return is.mean_used; }},
    {"within_sla_percent", "in SLA %", 1,
     [](const sim::FleetOutcome& is) { return 100 * is.metrics.within_sla; }},
    {"ttft_p99_s", "TTFT p99 s", 2,
     [](const sim::FleetOutcome& is) { return is.metrics.ttft_p99_s; }},
    {"tpot_p99_ms", "TPOT p99 ms", 1,
     [](const sim::FleetOutcome& is) { return 1e3 * is.metrics.tpot_p99_s; }},
    {"still_tpot_p99_ms", "never moved", 1,
     [](const sim::FleetOutcome& is) { return 1e3 * is.still_tpot_p99_s; }},
    {"longest_gap_p99_s", "gap p99 s", 2,
     [](const sim::FleetOutcome& is) { return is.metrics.longest_gap_p99_s; }},
    {"utilization_percent", "held %", 0,
     [](const sim::FleetOutcome& is) { return 100 * is.utilization; }},
    {"resident_mean", "resident", 1, [](const sim::FleetOutcome& is) { return is.mean_resident; }},
    {"boots", "boots", 0, [](const sim::FleetOutcome& is) { return double(is.boots); }},
    {"lent_gb_hours", "lent GB h", 1, [](const sim::FleetOutcome& is) { return is.lent_gb_hours; }},
    {"borrowed_gb_hours", "used of it", 2,
     [](const sim::FleetOutcome& is) { return is.borrowed_gb_hours; }},
    {"moves_kv", "as KV", 0, [](const sim::FleetOutcome& is) { return double(is.moves_kv); }},
    {"moves_tokens", "as tokens", 0,
     [](const sim::FleetOutcome& is) { return double(is.moves_tokens); }},
    {"moves_later", "later", 0, [](const sim::FleetOutcome& is) { return double(is.moves_later); }},
    {"moved_gb", "GB moved", 0, [](const sim::FleetOutcome& is) { return is.bytes_moved / 1e9; }},
    {"preempted", "preempted", 0,
     [](const sim::FleetOutcome& is) {
       return double(is.preempted + is.run.totals.swaps_out + is.run.totals.recomputes);
     }},
    {"refused", "refused", 0,
     [](const sim::FleetOutcome& is) { return double(is.metrics.refused); }}};

std::string table(const std::vector<Row>& rows) {
  std::ostringstream out;
  out << std::left << std::setw(7) << "packer" << std::right;
  for (const Column& column : kColumns) out << std::setw(12) << column.words;
  out << '\n';
  for (const Row& row : rows) {
    out << std::left << std::setw(7) << row.packer << std::right << std::fixed;
    for (const Column& column : kColumns) {
      out << std::setw(12) << std::setprecision(column.digits) << row.of(column.figure).mean;
    }
    out << '\n';
  }
  return std::move(out).str();
}

json to_json(const Row& row) {
  json all{{"packer", row.packer}};
  for (const Column& column : kColumns) {
    const sim::Interval value = row.of(column.figure);
    all[column.name] = value.mean;
    if (row.outcomes.size() > 1) all[concat(column.name, "_half_width")] = value.half_width;
  }
  for (const sim::FleetOutcome& outcome : row.outcomes) {
    all["seeds"].push_back(metrics_json(outcome.metrics));
  }
  return all;
}

std::string placements(const sim::FleetOutcome& outcome) {
  std::ostringstream out;
  out << "epoch,request,gpu,tokens\n";
  for (const sim::PlacementRow& row : outcome.placements) {
    out << row.epoch << ',' << row.request << ',' << row.engine << ',' << row.tokens << '\n';
  }
  return std::move(out).str();
}

// GPUs over time, of the first seed.
std::string picture(const std::vector<Row>& rows, const std::string& about) {
  const auto plot = [&](const char* title, auto figure) {
    report::Plot all{.title = title, .x_label = "seconds", .y_label = "engines", .series = {}};
    for (const Row& row : rows) {
      report::Series series{.name = row.packer, .points = {}};
      for (const sim::FleetSample& sample : row.outcomes.front().series) {
        series.points.emplace_back(sim::seconds(sample.at), figure(sample));
      }
      all.series.push_back(std::move(series));
    }
    return report::render_svg(all);
  };
  std::ostringstream out;
  out << report::page_begin("aqua simulate --pack", "Engines over time, by packer") << "<p>"
      << report::escape_html(about) << " Simulated, not measured.</p>\n"
      << plot("Engines in use", [](const sim::FleetSample& is) { return double(is.used); })
      << plot("Engines that are up", [](const sim::FleetSample& is) { return double(is.up); })
      << "<pre>" << report::escape_html(table(rows)) << "</pre>" << report::kPageEnd;
  return std::move(out).str();
}

sim::FleetShape shape_of(const FleetOptions& options) {
  sim::FleetShape shape{.engines = options.engines,
                        .engines_per_server = options.engines_per_server,
                        .network_bytes_per_second = options.network_gbps * 1e9,
                        .epoch_s = options.epoch_s,
                        .boot_s = options.boot_s,
                        .spare = options.spare,
                        .linger_s = options.linger_s,
                        .lend = options.lend,
                        .fixed = options.fixed,
                        .moves = options.moves,
                        .free_moves = options.free_moves};
  shape.options.watermark = options.watermark;
  return shape;
}

}  // namespace

Result<std::string> run_packing(const SimulateOptions& options, const sim::Trace& trace,
                                report::ProgressLine& bar) {
  AQUA_ASSIGN(const sim::Ground ground, ground_of(options));
  AQUA_TRY(can_be_met(options.sla, ground));
  double rate = options.rate.value_or(0);
  if (!options.rate && options.workload != WorkloadKind::trace) {
    AQUA_ASSIGN(rate, stable_rate(ground, trace, options.sla));
  }
  const sim::MakeWorkload make = workload_of(options, trace, rate);
  std::vector<std::string_view> packers;
  report::split_columns(options.fleet.pack, packers);
  const auto path_of = [&](std::string_view packer) {
    return packers.size() == 1 ? options.fleet.placements
                               : concat(options.fleet.placements, ".", packer);
  };
  for (const std::string_view packer : packers) {  // known before the runs, not after them
    if (!options.fleet.placements.empty()) AQUA_TRY(write_file(path_of(packer), ""));
  }
  std::vector<Row> rows;
  for (const std::string_view packer : packers) {
    rows.push_back({.packer = std::string(packer), .outcomes = {}});
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
      AQUA_ASSIGN(const sim::Workload work, make(seed));
      sim::FleetShape shape = shape_of(options.fleet);
      shape.packer = packer;
      shape.keep_placements = !options.fleet.placements.empty() && seed == 1;
      AQUA_ASSIGN(auto outcome,
                  sim::serve_fleet(ground, work, shape, options.sla, [&](std::size_t over) {
                    bar.show(std::string(packer), over, work.requests.size());
                  }));
      if (shape.keep_placements) {
        AQUA_TRY(write_file(path_of(packer), placements(outcome)));
      }
      rows.back().outcomes.push_back(std::move(outcome));
    }
  }
  const std::string about =
      concat(ground.scenario.model.name, " on ", ground.scenario.tensor_parallel, " of ",
             ground.scenario.server.name, ", ", static_cast<std::uint64_t>(ground.kv_tokens),
             " KV tokens an engine, at most ", options.fleet.engines, " engines, ",
             options.fleet.engines_per_server, " a server; ",
             options.fleet.fixed ? std::string("all up")
             : options.fleet.lend
                 ? concat("those not in use lend, ", options.fleet.spare, " spare, ",
                          options.fleet.linger_s, " s until one that is unused lends")
                 : concat(options.fleet.spare, " spare, ", options.fleet.boot_s, " s to boot, ",
                          options.fleet.linger_s, " s until one that is unused is off"),
             "; a plan each ", options.fleet.epoch_s, " s, watermark ", options.fleet.watermark,
             "; ", describe(options, rate), "; SLA TTFT ", options.sla.ttft_s, " s, TPOT ",
             options.sla.tpot_s * 1e3, " ms.");
  if (!options.html.empty()) AQUA_TRY(write_file(options.html, picture(rows, about)));
  if (!options.json) return concat(about, "\n\n", table(rows), "\n", sources_text(ground));
  json all{{"about", about}, {"sources", sources_json(ground)}};
  for (const Row& row : rows) all["packers"].push_back(to_json(row));
  return all.dump(2) + "\n";
}

}  // namespace aqua::tool
