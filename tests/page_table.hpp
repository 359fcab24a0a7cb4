// SPDX-License-Identifier: Apache-2.0
// Reads a table of a page of docs, for tests that hold the page to the code, cell by cell.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace aqua::test {

using PageRow = std::vector<std::string>;

// The rows of the first table whose first line begins with `head`: that line, the rule under it,
// and one row a line. Cells are without the blanks around them, and empty ones are left out.
inline std::vector<PageRow> page_table(const std::string& page, std::string_view head) {
  std::ifstream file(page);
  EXPECT_TRUE(file) << page;
  std::vector<PageRow> rows;
  for (std::string line; std::getline(file, line);) {
    if (rows.empty() && !line.starts_with(head)) continue;
    if (!line.starts_with("|")) break;
    PageRow& cells = rows.emplace_back();
    std::istringstream in(line.substr(1));
    for (std::string cell; std::getline(in, cell, '|');) {
      const auto first = cell.find_first_not_of(' ');
      if (first == std::string::npos) continue;
      cells.push_back(cell.substr(first, cell.find_last_not_of(' ') - first + 1));
    }
  }
  EXPECT_FALSE(rows.empty()) << page << " has no table that begins with " << head;
  return rows;
}

}  // namespace aqua::test
