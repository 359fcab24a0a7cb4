// SPDX-License-Identifier: Apache-2.0
// The ledger's rows as rows of SQLite, both ways.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/try.hpp"
#include "coordinator/store/sqlite.hpp"
#include "ledger/image.hpp"

namespace aqua::coordinator::rows {

extern const char* const kPutClient;
extern const char* const kPutSlab;
extern const char* const kPutReclaim;
extern const char* const kPutPair;

// Binds a row to the statement above; both arguments must live until it has run.
SqliteStatement& bind(SqliteStatement& put, const ledger::ClientRow& row, const std::string& boot);
SqliteStatement& bind(SqliteStatement& put, const ledger::Slab& row, const std::string& boot);
SqliteStatement& bind(SqliteStatement& put, const ledger::Reclaim& row, const std::string& boot);
SqliteStatement& bind(SqliteStatement& put, const ledger::Pair& row, const std::string& boot);

// All rows of a query, each by one(statement).
template <typename Row, typename Read>
[[nodiscard]] Result<std::vector<Row>> read_rows(const SqliteConnection& connection,
                                                 const char* sql, Read&& one) {
  AQUA_ASSIGN(SqliteStatement statement, connection.prepare(sql));
  std::vector<Row> all;
  for (;;) {
    AQUA_ASSIGN(const bool more, statement.step());
    if (!more) return all;
    all.push_back(one(statement));
  }
}

// Deletes what does not belong to `boot`; returns the number of rows.
[[nodiscard]] Result<std::uint64_t> drop_other_boots(const SqliteConnection& connection,
                                                     const std::string& boot);
// data_loss when a row makes no sense.
[[nodiscard]] Result<ledger::Image> read_all(const SqliteConnection& connection);

}  // namespace aqua::coordinator::rows
