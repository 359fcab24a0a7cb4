// SPDX-License-Identifier: Apache-2.0
// The tables of docs/engine/migration.md and those of the code are the same, cell by cell.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "tests/systems/migration/cells.hpp"

namespace aqua::migration::test {
namespace {

using Row = std::vector<std::string>;

Row split_row(const std::string& line) {
  Row cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const auto first = cell.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    cells.push_back(cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

// The table whose first columns are headed so.
std::vector<Row> documented(const std::string& head) {
  std::ifstream file(AQUA_MIGRATION_DOC);
  EXPECT_TRUE(file) << AQUA_MIGRATION_DOC;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (rows.empty() && !line.starts_with(head)) continue;
    if (!line.starts_with("|")) break;
    rows.push_back(split_row(line));
  }
  return rows;
}

template <typename States, typename Events>
void agree(const std::string& name, const States& states, const Events& events) {
  const auto rows = documented("| " + name + " | " + std::string(to_string(states[0])) + " |");
  ASSERT_EQ(rows.size(), events.size() + 2) << "header, rule, one row an event";
  ASSERT_EQ(rows[0].size(), states.size() + 1);
  for (std::size_t s = 0; s < states.size(); ++s) {
    EXPECT_EQ(rows[0][s + 1], to_string(states[s]));
  }
  for (std::size_t e = 0; e < events.size(); ++e) {
    const Row& row = rows[e + 2];
    ASSERT_EQ(row.size(), states.size() + 1) << to_string(events[e]);
    EXPECT_EQ(row[0], to_string(events[e]));
    for (std::size_t s = 0; s < states.size(); ++s) {
      EXPECT_EQ(row[s + 1], cell_text(states[s], events[e]))
          << to_string(events[e]) << " x " << to_string(states[s]);
    }
  }
}

TEST(MigrationTable, OfTheSourceIsTheOneOfThePage) {
  agree("source", kSourceStates, kSourceEvents);
}

TEST(MigrationTable, OfTheDestinationIsTheOneOfThePage) {
  agree("destination", kDestinationStates, kDestinationEvents);
}

TEST(MigrationTable, OfTheRouterIsTheOneOfThePage) {
  agree("router", kRouterStates, kRouterEvents);
}

}  // namespace
}  // namespace aqua::migration::test
