// SPDX-License-Identifier: Apache-2.0
// The ledger's rows as rows of SQLite, both ways.
#pragma once

#include <cstdint>
#include <string>

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

// Deletes what does not belong to `boot`; returns the number of rows.
[[nodiscard]] Result<std::uint64_t> drop_other_boots(const SqliteConnection& connection,
                                                     const std::string& boot);
// data_loss when a row makes no sense.
[[nodiscard]] Result<ledger::Image> read_all(const SqliteConnection& connection);

}  // namespace aqua::coordinator::rows
