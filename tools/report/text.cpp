// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <utility>

#include "base/concat.hpp"

namespace aqua::report {

bool Lines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_ = end == rest_.npos ? std::string_view{} : rest_.substr(end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  ++number_;
  return true;
}

Error line_error(std::string_view file, std::size_t line, std::string_view what) {
  return Error{Code::invalid_argument, concat(file, " line ", line, ": ", what)};
}

std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > 40 ? "...'" : "'");
}

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string out;
  std::size_t column = 0;  // of the next word
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(' ', from), text.size());
    if (column > 0 && column + (end - from) > columns) {
      out += '\n';
      column = 0;
    }
    if (column > 0) out += ' ';
    out.append(text, from, end - from);
    column += (end - from) + 1;
    from = end + 1;
  }
  return out;
}

std::string fixed(double value, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return std::move(out).str();
}

std::string mib(std::uint64_t bytes) {
  return fixed(static_cast<double>(bytes) / (1 << 20), 1);
}

void split_columns(std::string_view line, std::vector<std::string_view>& columns) {
  columns.clear();
  for (;;) {
    const std::size_t comma = line.find(',');
    columns.push_back(line.substr(0, comma));
    if (comma == line.npos) return;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace aqua::report
