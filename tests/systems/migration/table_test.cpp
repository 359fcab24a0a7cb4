// SPDX-License-Identifier: Apache-2.0
// The tables of docs/engine/migration.md and those of the code are the same, cell by cell.
#include <gtest/gtest.h>

#include <string>

#include "tests/page_table.hpp"
#include "tests/systems/migration/cells.hpp"

namespace aqua::migration::test {
namespace {

template <typename States, typename Events>
void agree(const std::string& name, const States& states, const Events& events) {
  const auto rows = aqua::test::page_table(
      AQUA_MIGRATION_DOC, "| " + name + " | " + std::string(to_string(states[0])) + " |");
  ASSERT_EQ(rows.size(), events.size() + 2) << "header, rule, one row an event";
  ASSERT_EQ(rows[0].size(), states.size() + 1);
  for (std::size_t s = 0; s < states.size(); ++s) {
    EXPECT_EQ(rows[0][s + 1], to_string(states[s]));
  }
  for (std::size_t e = 0; e < events.size(); ++e) {
    const auto& row = rows[e + 2];
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
