// SPDX-License-Identifier: Apache-2.0
// The groups' rows as rows of SQLite, both ways. A group is written with all of its members.
#pragma once

#include <string>
#include <vector>

#include "coordinator/store/sqlite.hpp"
#include "coordinator/store/write_set.hpp"

namespace aqua::coordinator::rows {

struct GroupStatements {
  [[nodiscard]] static Result<GroupStatements> prepare(const SqliteConnection& connection);
  // In the caller's transaction.
  [[nodiscard]] Result<void> write(const WriteSet& rows, const std::string& boot);

  SqliteStatement put_group, put_member, drop_group, drop_members;
};

// data_loss when a row makes no sense.
[[nodiscard]] Result<std::vector<groups::GroupRow>> read_groups(const SqliteConnection& connection);

}  // namespace aqua::coordinator::rows
