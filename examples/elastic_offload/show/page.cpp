// SPDX-License-Identifier: Apache-2.0
#include "show/page.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "must.hpp"
#include "show/expansion.hpp"
#include "show/gain.hpp"
#include "show/report.hpp"
#include "tools/report/svg_plot.hpp"

namespace aqua::example {
namespace {

using nlohmann::json;
using report::Plot;
using report::Series;

// Nothing of nothing.
std::string paragraph(const std::string& text) {
  return text.empty() ? "" : "<p>" + text + "</p>\n";
}

// By percentile, in seconds.
Series first_tokens(const char* name, const json& serving) {
  auto samples = serving.at("ttft_ms").at("all").get<std::vector<double>>();
  std::sort(samples.begin(), samples.end());
  Series series{.name = name, .points = {}};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(samples.size());
    series.points.emplace_back(100 * share, samples[i] / 1000);
  }
  return series;
}

void comparison(std::ostringstream& out, const json& compared) {
  out << "<table><tr><th></th><th>host memory alone</th><th>with lent memory</th><th></th></tr>\n";
  for (const GainRow& row : gain_rows(compared)) {
    out << "<tr><td>" << row.what << "</td><td>" << row.host << "</td><td>" << row.lent
        << "</td><td>" << row.gain << "</td></tr>\n";
  }
  out << "</table>\n"
      << report::render_svg({.title = "Time to first token",
                             .x_label = "percentile of requests",
                             .y_label = "s",
                             .series = {first_tokens("host memory alone", compared.at("host")),
                                        first_tokens("with lent memory", compared.at("lent"))}});
}

void memory(std::ostringstream& out, const Timeline& timeline, const json& found) {
  Series lent{.name = "put up by the lenders", .points = {}};
  Series peer{.name = "preempted KV in lent memory", .points = {}};
  Series host{.name = "preempted KV in host memory", .points = {}};
  for (const Timeline::Sample& sample : timeline.samples) {
    lent.points.emplace_back(sample.seconds, static_cast<double>(sample.lent >> 20));
    peer.points.emplace_back(sample.seconds, static_cast<double>(sample.peer >> 20));
    host.points.emplace_back(sample.seconds, static_cast<double>(sample.host >> 20));
  }
  out << report::render_svg({.title = "Where memory was",
                             .x_label = "seconds",
                             .y_label = "MiB",
                             .series = {lent, peer, host},
                             .marks = {{found.at("reclaim_at_seconds").get<double>(), "reclaim"}}});
  out << "<ul>";
  for (const Timeline::Mark& mark : timeline.marks) {
    out << "<li>" << static_cast<long>(mark.seconds) << " s: " << mark.text << "</li>";
  }
  out << "</ul>\n";
}

}  // namespace

std::string render_page(const json& found, const Timeline& timeline) {
  const bool compared = found.contains("comparison");
  std::ostringstream out;
  out << report::page_begin("libaqua's demo", compared ? gain_sentence(found.at("comparison"))
                                                       : "No comparison was asked for.")
      << paragraph(expansion_sentence(found)) << paragraph(death_sentence(found)) << "<p>"
      << reclaim_sentence(found) << " "
      << static_cast<double>(found.at("verified_bytes").get<std::uint64_t>() / 100'000'000) / 10
      << " GB were checked, " << found.at("mismatched_bytes").get<std::uint64_t>()
      << " bytes wrong.</p>\n<p>Emulated GPUs on one machine; scheduled by "
      << found.at("policy").get<std::string>() << "; host memory paced to "
      << found.at("scaling").at("host_link_mb_per_s").get<std::uint64_t>() << " MB/s.</p>\n";
  if (compared) comparison(out, found.at("comparison"));
  memory(out, timeline, found);
  out << frames_svg(found);
  out << report::kPageEnd;
  return std::move(out).str();
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw Failure("cannot write " + path.string());
}

}  // namespace aqua::example
