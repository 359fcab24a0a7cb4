// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iomanip>
#include <sstream>

#include "tools/sim/report/report.hpp"

namespace aqua::sim {
namespace {

struct Column {
  const char* title;
  double Metrics::*field;
  double scale;
  int digits;
};
constexpr Column kColumns[] = {
    {"TTFT p50 s", &Metrics::ttft_p50_s, 1, 3},    {"TTFT p99 s", &Metrics::ttft_p99_s, 1, 3},
    {"TPOT ms", &Metrics::tpot_mean_s, 1e3, 2},    {"gap p99 s", &Metrics::longest_gap_p99_s, 1, 3},
    {"latency s", &Metrics::latency_mean_s, 1, 2}, {"lat. p99 s", &Metrics::latency_p99_s, 1, 2},
    {"makespan s", &Metrics::makespan_s, 1, 1},    {"goodput/s", &Metrics::goodput_rps, 1, 3},
    {"in SLA %", &Metrics::within_sla, 100, 1}};

std::string cell(const PolicyRun& run, const Column& column_of) {
  std::ostringstream out;
  const Interval value = confidence(column(run, column_of.field));
  out << std::fixed << std::setprecision(column_of.digits) << value.mean * column_of.scale;
  if (run.metrics.size() > 1) out << "±" << value.half_width * column_of.scale;
  return out.str();
}

// "±" is one column wide and two bytes long.
std::size_t width(const std::string& text) {
  return text.size() - static_cast<std::size_t>(std::count(text.begin(), text.end(), '\xc2'));
}

void put(std::ostringstream& out, const std::string& text, std::size_t columns) {
  out << std::string(columns - std::min(columns, width(text)), ' ') << text;
}

}  // namespace

std::string render_table(const Comparison& comparison) {
  std::ostringstream out;
  const Ground& ground = comparison.ground;
  const Scenario& scenario = ground.scenario;
  out << verdict(comparison) << "\n\n"
      << scenario.model.name << " on " << scenario.tensor_parallel << " of " << scenario.server.name
      << ", " << static_cast<std::uint64_t>(ground.kv_tokens) << " KV tokens (" << std::fixed
      << std::setprecision(1) << ground.kv_tokens * ground.kv_bytes_per_token / 1e9
      << " GB a GPU), " << scenario.lent_bytes / 1e9 << " GB lent";
  if (scenario.host_bytes) out << ", " << *scenario.host_bytes / 1e9 << " GB of host memory";
  out << "\n" << comparison.workload << ": " << comparison.requests << " requests";
  if (comparison.redirected > 0) out << ", " << comparison.redirected << " redirected";
  if (comparison.lifted > 0) out << ", " << comparison.lifted << " lengths of 0 read as 1";
  if (comparison.seeds.size() > 1) out << ", " << comparison.seeds.size() << " seeds, mean ±95 %";
  out << "; chunk " << scenario.scheduler.budget_tokens << ", slice "
      << scenario.scheduler.slice_iterations << "; SLA TTFT " << comparison.sla.ttft_s
      << " s, TPOT " << comparison.sla.tpot_s * 1000 << " ms\n\n";

  std::size_t name = 6;
  for (const PolicyRun& run : comparison.runs) name = std::max(name, run.policy.name.size());
  std::vector<std::size_t> widths;
  out << "policy" << std::string(name - 6, ' ');
  for (const Column& one : kColumns) {
    std::size_t wide = std::string(one.title).size();
    for (const PolicyRun& run : comparison.runs) wide = std::max(wide, width(cell(run, one)));
    widths.push_back(wide + 2);
    put(out, one.title, widths.back());
  }
  out << "     out GB  preempted  refused\n";
  for (const PolicyRun& run : comparison.runs) {
    out << run.policy.name << std::string(name - run.policy.name.size(), ' ');
    std::size_t i = 0;
    for (const Column& one : kColumns) put(out, cell(run, one), widths[i++]);
    const Totals& totals = run.outcome.totals;
    std::ostringstream paged;
    paged << std::fixed << std::setprecision(2) << totals.bytes_out / 1e9;
    put(out, paged.str(), 11);
    put(out, std::to_string(totals.swaps_out + totals.recomputes), 11);
    put(out, std::to_string(run.metrics.front().refused), 9);
    out << '\n';
  }
  out << '\n';
  for (const Source& source : ground.sources) {
    out << source.what << ": " << source.label << " (" << source.from << ")\n";
  }
  return out.str();
}

}  // namespace aqua::sim
