// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/search/picture.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "tools/report/escape_html.hpp"
#include "tools/report/svg_plot.hpp"

namespace aqua::profiler {
namespace {

double gigabytes(std::size_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

// A figure of each probe or batch, by its x; of several at one x, all. They are points: what lies
// between two was not tried.
template <typename Row, typename X, typename Y>
report::Series series(const char* name, const std::vector<Row>& rows, X x, Y y) {
  report::Series line{.name = name, .points = {}, .dots = true};
  for (const Row& row : rows) line.points.emplace_back(x(row), y(row));
  std::sort(line.points.begin(), line.points.end());
  return line;
}

report::Series limit(const report::Series& like, double value) {
  report::Series line{.name = "SLA", .points = {}};
  if (like.points.empty()) return line;
  line.points = {{like.points.front().first, value}, {like.points.back().first, value}};
  return line;
}

void plot(std::ostringstream& out, const char* title, const char* x, const char* unit,
          std::vector<report::Series> lines) {
  out << report::render_svg(
      {.title = title, .x_label = x, .y_label = unit, .series = std::move(lines)});
}

void of_rates(std::ostringstream& out, const std::vector<Probe>& probes, const Sla& sla) {
  const auto rate = [](const Probe& probe) { return probe.rate; };
  const auto ttft = series("TTFT", probes, rate, [](const Probe& p) { return p.quantiles.ttft_s; });
  const auto tbt =
      series("TBT", probes, rate, [](const Probe& p) { return p.quantiles.tbt_s * 1000; });
  const auto peak = series("peak", probes, rate, [](const Probe& p) {
    return std::max(p.peak_bytes, p.client_bytes) / 1e9;
  });
  const auto pool = series("pool", probes, rate, [](const Probe& p) { return p.pool_bytes / 1e9; });
  plot(out, "Time to first token", "requests/s", "s", {ttft, limit(ttft, sla.ttft_s)});
  plot(out, "Time between tokens", "requests/s", "ms", {tbt, limit(tbt, sla.tbt_s * 1000)});
  plot(out, "KV memory: peak, and all there is", "requests/s", "GB", {peak, pool});
}

void of_batches(std::ostringstream& out, const std::vector<Batch>& batches) {
  const auto size = [](const Batch& batch) { return static_cast<double>(batch.batch); };
  plot(out, "Throughput", "batch", "items/s",
       {series("throughput", batches, size, [](const Batch& b) { return b.throughput; })});
  plot(out, "Memory: peak, and all there is", "batch", "GB",
       {series("peak", batches, size, [](const Batch& b) { return b.peak_bytes / 1e9; }),
        series("pool", batches, size, [](const Batch& b) { return b.pool_bytes / 1e9; })});
}

void of_bursts(std::ostringstream& out, const std::vector<Burst>& bursts) {
  const auto factor = [](const Burst& burst) { return burst.factor; };
  plot(out, "Swap space for bursts", "times the stable rate", "GB",
       {series("swap", bursts, factor, [](const Burst& b) { return b.swap_bytes / 1e9; })});
}

}  // namespace

namespace {

// Whether a role was found: one of a stopped run is none yet, nor is that of no rate at all.
bool has_role(const Profile& profile) {
  return profile.max_rps > 0 && (profile.complete || profile.role != ProfileRole::neutral);
}

}  // namespace

std::string verdict(const Record& record) {
  const Profile& profile = record.profile;
  const char* const load = record.evidence.batches.empty() ? " requests" : " items";
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << record.evidence.model;
  if (!profile.complete && profile.role == ProfileRole::neutral) {
    out << ": the profiler was stopped before it knew; resume it.";
    return std::move(out).str();
  }
  if (profile.max_rps <= 0) {
    out << ": no load that was tried met the SLA, so nothing is said of its memory.";
    return std::move(out).str();
  }
  switch (profile.role) {
    case ProfileRole::producer:
      out << " can lend: ";
      break;
    case ProfileRole::consumer:
      out << " wants to borrow " << gigabytes(profile.swap_bytes) << " GB: ";
      break;
    case ProfileRole::neutral:
      out << " neither lends nor borrows: ";
      break;
  }
  out << "at " << std::defaultfloat << std::setprecision(4) << profile.max_rps << std::fixed
      << std::setprecision(1) << load << " a second, the most that meets the SLA, "
      << gigabytes(profile.free_bytes) << " of its " << gigabytes(profile.kv_bytes)
      << " GB are free.";
  if (!profile.complete) out << " The profiler was stopped; resume it for the rest.";
  return std::move(out).str();
}

std::string render_page(const Record& record, const Sla& sla) {
  const Profile& profile = record.profile;
  const Evidence& evidence = record.evidence;
  std::ostringstream out;
  out << report::page_begin("aqua profile", verdict(record));
  if (has_role(profile)) {
    out << "<p>Role " << to_string(profile.role) << "; " << std::fixed << std::setprecision(1)
        << gigabytes(profile.swap_bytes) << " GB of swap space wanted.</p>\n";
  }
  for (const auto& [about, warning] : evidence.warnings)
    out << "<p>" << report::escape_html(warning) << "</p>\n";
  if (!evidence.probes.empty()) of_rates(out, evidence.probes, sla);
  if (!evidence.bursts.empty()) of_bursts(out, evidence.bursts);
  if (!evidence.batches.empty()) of_batches(out, evidence.batches);
  out << report::kPageEnd;
  return std::move(out).str();
}

}  // namespace aqua::profiler
