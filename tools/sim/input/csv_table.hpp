// SPDX-License-Identifier: Apache-2.0
// A CSV file with a header, read by column name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/report/text.hpp"

namespace aqua::sim {

class CsvTable {
 public:
  // The text must outlive the table. `name` is for errors.
  [[nodiscard]] static Result<CsvTable> open(std::string_view name, std::string_view text);

  // not_found when there is no such column.
  [[nodiscard]] Result<std::size_t> column(std::string_view name) const;
  // The next row; false at the end; invalid_argument when columns are missing.
  [[nodiscard]] Result<bool> next();
  // A number in this row. invalid_argument, naming line and column, unless a finite number >= 0.
  [[nodiscard]] Result<double> number(std::size_t column) const;

 private:
  CsvTable(std::string_view name, std::string_view text) : name_(name), lines_(text) {}

  std::string name_;
  report::Lines lines_;
  std::vector<std::string_view> header_;
  std::vector<std::string_view> row_;
};

}  // namespace aqua::sim
