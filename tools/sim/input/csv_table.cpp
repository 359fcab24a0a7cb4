// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/csv_table.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"

namespace aqua::sim {

Result<CsvTable> CsvTable::open(std::string_view name, std::string_view text) {
  CsvTable table(name, text);
  std::string_view line;
  if (!table.lines_.next(line))
    return report::line_error(name, 1, "expected a header, got nothing");
  report::split_columns(line, table.header_);
  return table;
}

Result<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) {
    return Error{Code::not_found, concat(name_, ": no column ", report::shown(name))};
  }
  return static_cast<std::size_t>(found - header_.begin());
}

Result<bool> CsvTable::next() {
  std::string_view line;
  if (!lines_.next(line)) return false;
  report::split_columns(line, row_);
  if (row_.size() != header_.size()) {
    return report::line_error(name_, lines_.number(),
                              concat("expected ", header_.size(), " columns, got ", row_.size()));
  }
  return true;
}

Result<double> CsvTable::number(std::size_t column) const {
  const auto value = report::parse_number<double>(row_[column]);
  if (!value || !std::isfinite(*value) || *value < 0) {
    return report::line_error(
        name_, lines_.number(),
        concat(header_[column], " is not a number from 0: ", report::shown(row_[column])));
  }
  return *value;
}

}  // namespace aqua::sim
