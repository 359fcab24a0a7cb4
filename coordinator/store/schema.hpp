// SPDX-License-Identifier: Apache-2.0
// The tables of ledger.db, and how a file of an earlier version becomes one of this version.
// PRAGMA user_version names the version. docs/internals/store.md describes the rows.
#pragma once

#include "aqua/result.hpp"
#include "coordinator/store/sqlite.hpp"

namespace aqua::coordinator {

inline constexpr int kSchemaVersion = 6;

// Makes the tables, or brings them up to this version, each step in a transaction of its own.
// failed_precondition when a later version wrote the file; data_loss when it is not ours.
[[nodiscard]] Result<void> migrate(const SqliteConnection& connection);

}  // namespace aqua::coordinator
