// SPDX-License-Identifier: Apache-2.0
// Line plots as inline SVG, coloured by the page's own variables (--c0 to --c7).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aqua::report {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x ascending
  bool dots = false;                              // not joined by a line
};
// A moment worth a line of its own, and a word.
struct Mark {
  double x = 0;
  std::string text;
};
struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
  std::vector<Mark> marks{};
  bool legend = true;  // names below the plot, of several series
};

// Lines of more points than the plot has columns keep each column's least and greatest value.
[[nodiscard]] std::string render_svg(const Plot& plot);
// "var(--c1)"
[[nodiscard]] std::string series_colour(std::size_t index);
// The beginning of a page that shows such plots, light or dark, up to and with its heading. Neither
// text is escaped yet. The page ends with kPageEnd.
[[nodiscard]] std::string page_begin(std::string_view title, std::string_view heading);
inline constexpr std::string_view kPageEnd = "</body></html>\n";
// A round step that divides `range` into some five parts: 1, 2 or 5 times a power of ten.
[[nodiscard]] double tick_step(double range);

}  // namespace aqua::report
