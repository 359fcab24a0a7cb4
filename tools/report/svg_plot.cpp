// SPDX-License-Identifier: Apache-2.0
#include "tools/report/svg_plot.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "base/concat.hpp"
#include "tools/report/escape_html.hpp"

namespace aqua::report {
namespace {

// Colours that keep apart on light and dark and for most colour-blind readers (Okabe and Ito).
constexpr std::string_view kStyle = R"(
:root{--ink:#1b1f24;--dim:#5b6470;--paper:#fff;--grid:#e3e6ea;
--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;--c4:#b58900;--c5:#56b4e9;--c6:#7a4fbf;--c7:#444}
@media (prefers-color-scheme: dark){:root{--ink:#e6e8eb;--dim:#9aa4b0;--paper:#14171b;--grid:#2b3138;
--c0:#4aa8e0;--c1:#ff8c42;--c2:#2fd0a0;--c3:#e8a5cb;--c4:#f0c94a;--c5:#8fd3ff;--c6:#b394f0;--c7:#bbb}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;
max-width:1100px;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin:2rem 0 .3rem}p{color:var(--dim);margin:.2rem 0}
table{border-collapse:collapse;display:block;overflow-x:auto}td,th{padding:.25rem .7rem;text-align:right;
border-bottom:1px solid var(--grid);white-space:nowrap}td:first-child,th:first-child{text-align:left;white-space:normal}
.words td{white-space:normal;text-align:left}
svg{width:100%;height:auto}svg text{fill:var(--dim);font-size:12px}.grid{stroke:var(--grid)}
.line{fill:none;stroke-width:1.6}.mark{stroke:var(--dim);stroke-dasharray:4 3}
.legend span{margin-right:1.2rem}label{margin-right:1.2rem;cursor:pointer}
@media(max-width:700px){svg text{font-size:24px}td,th{white-space:normal}}
)";

constexpr double kWidth = 1060, kHeight = 300, kLeft = 60, kRight = 10, kTop = 10, kBottom = 40;

struct Frame {
  double x_min = 0, x_max = 1, y_max = 1;
  [[nodiscard]] double x(double value) const {
    return kLeft + (value - x_min) / (x_max - x_min) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double value) const {
    return kHeight - kBottom - value / y_max * (kHeight - kTop - kBottom);
  }
};

Frame frame_of(const Plot& plot) {
  Frame frame;
  bool any = false;
  double least = 0, most = 0, high = 0;
  for (const Series& series : plot.series) {
    for (const auto& [x, y] : series.points) {
      least = any ? std::min(least, x) : x;
      most = any ? std::max(most, x) : x;
      high = std::max(high, y);
      any = true;
    }
  }
  frame.x_min = least;
  frame.x_max = most > least ? most : least + 1;
  frame.y_max = high > 0 ? high * 1.05 : 1;
  return frame;
}

void axes(std::ostringstream& out, const Frame& frame, const Plot& plot) {
  const double y_step = tick_step(frame.y_max), x_step = tick_step(frame.x_max - frame.x_min);
  for (int i = 0; i * y_step <= frame.y_max; ++i) {
    const double y = i * y_step;
    out << "<line class=\"grid\" x1=\"" << kLeft << "\" x2=\"" << kWidth - kRight << "\" y1=\""
        << frame.y(y) << "\" y2=\"" << frame.y(y) << "\"/><text x=\"" << kLeft - 6 << "\" y=\""
        << frame.y(y) + 4 << "\" text-anchor=\"end\">" << concat(y) << "</text>";
  }
  const double x_first = std::ceil(frame.x_min / x_step) * x_step;
  for (int i = 0; x_first + i * x_step <= frame.x_max; ++i) {
    const double x = x_first + i * x_step;
    out << "<text x=\"" << frame.x(x) << "\" y=\"" << kHeight - kBottom + 18
        << "\" text-anchor=\"middle\">" << concat(x) << "</text>";
  }
  out << "<text x=\"" << kWidth / 2 << "\" y=\"" << kHeight - 4 << "\" text-anchor=\"middle\">"
      << escape_html(plot.x_label) << "</text>";
}

void polyline(std::ostringstream& out, const Frame& frame, const Series& series,
              std::size_t index) {
  out << "<polyline class=\"line s" << index << "\" stroke=\"" << series_colour(index)
      << "\" points=\"";
  for (std::size_t i = 0; i < series.points.size();) {
    const double column = std::floor(frame.x(series.points[i].first));
    double low = series.points[i].second, high = low;
    for (; i < series.points.size() && std::floor(frame.x(series.points[i].first)) <= column; ++i) {
      low = std::min(low, series.points[i].second);
      high = std::max(high, series.points[i].second);
    }
    out << column << ',' << frame.y(low) << ' ';
    if (high > low) out << column << ',' << frame.y(high) << ' ';
  }
  out << "\"><title>" << escape_html(series.name) << "</title></polyline>";
}

void dots(std::ostringstream& out, const Frame& frame, const Series& series, std::size_t index) {
  out << "<g class=\"s" << index << "\" fill=\"" << series_colour(index) << "\"><title>"
      << escape_html(series.name) << "</title>";
  for (const auto& [x, y] : series.points)
    out << "<circle cx=\"" << frame.x(x) << "\" cy=\"" << frame.y(y) << "\" r=\"4\"/>";
  out << "</g>";
}

void marks(std::ostringstream& out, const Frame& frame, const Plot& plot) {
  for (const Mark& mark : plot.marks) {
    const double x = frame.x(mark.x);
    out << "<line class=\"mark\" x1=\"" << x << "\" x2=\"" << x << "\" y1=\"" << kTop << "\" y2=\""
        << kHeight - kBottom << "\"/><text x=\"" << x + 4 << "\" y=\"" << kTop + 10 << "\">"
        << escape_html(mark.text) << "</text>";
  }
}

void legend(std::ostringstream& out, const Plot& plot) {
  out << "<p class=\"legend\">";
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    out << "<span style=\"color:" << series_colour(i) << "\">&#9644; "
        << escape_html(plot.series[i].name) << "</span>";
  }
  out << "</p>\n";
}

}  // namespace

std::string page_begin(std::string_view title, std::string_view heading) {
  return concat(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>",
      escape_html(title), "</title><style>", kStyle, "</style></head><body>\n<h1>",
      escape_html(heading), "</h1>\n");
}

std::string series_colour(std::size_t index) {
  return concat("var(--c", index % 8, ")");
}

double tick_step(double range) {
  const double rough = range / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::string render_svg(const Plot& plot) {
  const Frame frame = frame_of(plot);
  std::ostringstream out;
  out << std::fixed << std::setprecision(1);
  out << "<h2>" << escape_html(plot.title) << " <small>(" << escape_html(plot.y_label)
      << ")</small></h2>\n<svg viewBox=\"0 0 " << kWidth << ' ' << kHeight << "\" role=\"img\">";
  axes(out, frame, plot);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    (series.dots ? dots : polyline)(out, frame, series, i);
  }
  marks(out, frame, plot);
  out << "</svg>\n";
  if (plot.legend && plot.series.size() > 1) legend(out, plot);
  return std::move(out).str();
}

}  // namespace aqua::report
