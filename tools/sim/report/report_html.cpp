// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "tools/report/escape_html.hpp"
#include "tools/report/svg_plot.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/report/metric_fields.hpp"
#include "tools/sim/report/report.hpp"

namespace aqua::sim {
namespace {

constexpr const char* kScript = R"(
document.querySelectorAll('input[data-series]').forEach(box=>box.addEventListener('change',()=>{
document.querySelectorAll('.'+box.dataset.series).forEach(e=>e.style.display=box.checked?'':'none')}));
)";

void legend(std::ostringstream& out, const Comparison& comparison) {
  out << "<p>";
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    out << "<label style=\"color:" << report::series_colour(i)
        << "\"><input type=\"checkbox\" checked "
        << "data-series=\"s" << i << "\"> " << report::escape_html(comparison.runs[i].policy.name)
        << "</label>";
  }
  out << "</p>\n";
}

// A row per figure, so that it is no wider than its policies.
void table(std::ostringstream& out, const Comparison& comparison) {
  out << "<table><tr><th></th>";
  for (const PolicyRun& run : comparison.runs)
    out << "<th>" << report::escape_html(run.policy.name) << "</th>";
  out << "</tr>\n";
  for (const MetricField& metric : kMetricFields) {
    out << "<tr><td>" << metric.words << "</td>";
    for (const PolicyRun& run : comparison.runs) {
      const Interval value = confidence(column(run, metric.field));
      out << "<td>" << report::fixed(value.mean * metric.scale, metric.digits);
      if (run.metrics.size() > 1)
        out << " ± " << report::fixed(value.half_width * metric.scale, metric.digits);
      out << "</td>";
    }
    out << "</tr>\n";
  }
  out << "</table>\n";
}

// A figure of each request, in the order of arrival.
template <typename Figure>
void per_request(std::ostringstream& out, const Comparison& comparison, const char* title,
                 const char* unit, Figure figure) {
  report::Plot plot{.title = title,
                    .x_label = "request, by arrival",
                    .y_label = unit,
                    .series = {},
                    .legend = false};
  for (const PolicyRun& run : comparison.runs) {
    report::Series series{.name = run.policy.name, .points = {}};
    for (std::size_t i = 0; i < run.outcome.requests.size(); ++i) {
      const RequestOutcome& request = run.outcome.requests[i];
      if (!request.refused()) series.points.emplace_back(static_cast<double>(i), figure(request));
    }
    plot.series.push_back(std::move(series));
  }
  out << report::render_svg(plot);
}

template <typename Figure>
void percentiles(std::ostringstream& out, const Comparison& comparison, const char* title,
                 const char* unit, Figure figure) {
  report::Plot plot{.title = title,
                    .x_label = "percentile of requests",
                    .y_label = unit,
                    .series = {},
                    .legend = false};
  for (const PolicyRun& run : comparison.runs) {
    std::vector<double> values;
    for (const RequestOutcome& request : run.outcome.requests) {
      if (!request.refused()) values.push_back(figure(request));
    }
    std::sort(values.begin(), values.end());
    report::Series series{.name = run.policy.name, .points = {}};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double share = static_cast<double>(i + 1) / static_cast<double>(values.size());
      series.points.emplace_back(100 * share, values[i]);
    }
    plot.series.push_back(std::move(series));
  }
  out << report::render_svg(plot);
}

void memory(std::ostringstream& out, const Comparison& comparison, const char* title,
            double MemorySample::*field) {
  report::Plot plot{
      .title = title, .x_label = "seconds", .y_label = "GB", .series = {}, .legend = false};
  for (const PolicyRun& run : comparison.runs) {
    report::Series series{.name = run.policy.name, .points = {}};
    for (const MemorySample& sample : run.outcome.memory) {
      series.points.emplace_back(seconds(sample.at), sample.*field / 1e9);
    }
    plot.series.push_back(std::move(series));
  }
  out << report::render_svg(plot);
}

}  // namespace

std::string render_html(const Comparison& comparison) {
  const Ground& ground = comparison.ground;
  std::ostringstream out;
  out << report::page_begin("aqua simulate", verdict(comparison)) << "<p>"
      << report::escape_html(ground.scenario.model.name) << " on "
      << ground.scenario.tensor_parallel << " of "
      << report::escape_html(ground.scenario.server.name) << "; "
      << report::escape_html(comparison.workload) << ": " << comparison.requests << " requests; "
      << static_cast<std::uint64_t>(ground.kv_tokens) << " KV tokens, "
      << ground.scenario.lent_bytes / 1e9 << " GB lent; plots of seed " << comparison.seeds.front()
      << ". Simulated, not measured.</p>\n";
  table(out, comparison);
  legend(out, comparison);
  const auto ttft = [](const RequestOutcome& request) { return request.ttft(); };
  const auto tpot = [](const RequestOutcome& request) { return request.tpot() * 1000; };
  const auto latency = [](const RequestOutcome& request) { return request.latency(); };
  per_request(out, comparison, "TTFT per request", "s", ttft);
  per_request(out, comparison, "TPOT per request", "ms", tpot);
  percentiles(out, comparison, "TTFT percentiles", "s", ttft);
  percentiles(out, comparison, "TPOT percentiles", "ms", tpot);
  percentiles(out, comparison, "Latency percentiles", "s", latency);
  memory(out, comparison, "KV on the device", &MemorySample::device_bytes);
  memory(out, comparison, "KV with the neighbour (peer)", &MemorySample::peer_bytes);
  memory(out, comparison, "KV in host DRAM", &MemorySample::host_bytes);
  out << "<h2>Where the figures come from</h2>\n<table class=\"words\">";
  for (const Source& source : ground.sources) {
    out << "<tr><td>" << report::escape_html(source.what) << "</td><td>"
        << report::escape_html(source.label) << "</td><td>" << report::escape_html(source.from)
        << "</td></tr>";
  }
  out << "</table>\n<script>" << kScript << "</script>" << report::kPageEnd;
  return std::move(out).str();
}

}  // namespace aqua::sim
