// SPDX-License-Identifier: Apache-2.0
// The store of one machine: <data>/ledger.db, SQLite in WAL mode.
//
//   commit()  one transaction with synchronous=NORMAL: in the log, not yet on the disk
//   sync()    one fdatasync() of the log, shared by all who wait: what synchronous=FULL does at
//             every commit, without keeping other commits waiting for the disk
//
// Threads: as Store says; one of its own for checkpoints.
// Owns:    the connections. The directory is the caller's, locked (DataDir).
#pragma once

#include <memory>
#include <string>

#include "base/mutex.hpp"
#include "coordinator/store/checkpointer.hpp"
#include "coordinator/store/group_sync.hpp"
#include "coordinator/store/sqlite.hpp"
#include "coordinator/store/sqlite_group_rows.hpp"
#include "coordinator/store/sqlite_rows.hpp"
#include "coordinator/store/store.hpp"

namespace aqua::coordinator {

class SqliteStore final : public Store {
 public:
  // Makes or migrates `directory`/ledger.db and checks every page of it. Errors as Store::load.
  [[nodiscard]] static Result<std::unique_ptr<SqliteStore>> open(const std::string& directory,
                                                                 Host host,
                                                                 const LogLimits& limits = {});
  ~SqliteStore() override;

  [[nodiscard]] Result<Stored> load() override;
  [[nodiscard]] Result<Revision> commit(const WriteSet& rows) override;
  [[nodiscard]] Result<void> sync(Revision revision) override;

 private:
  struct Statements {
    SqliteStatement begin, commit, put_revision;
    SqliteStatement put_client, put_slab, put_reclaim, put_pair;
    SqliteStatement drop_client, drop_slab, drop_reclaim, drop_pair;
    rows::GroupStatements groups;
  };
  SqliteStore(Host host, std::unique_ptr<SqliteConnection> connection);

  // SQLite's hook after each commit; `store` is this.
  static int log_grown(void* store, sqlite3* connection, const char* database, int pages);
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] Result<void> open_log(const std::string& directory);
  [[nodiscard]] Result<void> load_into(Stored& stored);
  [[nodiscard]] Result<void> put(const ledger::Image& rows);
  [[nodiscard]] Result<void> drop(const WriteSet& rows);
  // One transaction around work(); rolled back where it fails.
  template <typename Work>
  [[nodiscard]] Result<void> transact(Work&& work);
  // What we left in the file.
  struct Seen {
    Revision revision = 0;
    std::uint32_t version = 0;  // SQLite's, after our own commit
  };
  // In a transaction: the revision in the file. aborted unless nobody has loaded since we did. With
  // `write` it is raised in any case.
  [[nodiscard]] Result<Revision> be_alone(bool write);

  const Host host_;
  std::unique_ptr<SqliteConnection> connection_;
  std::int64_t page_bytes_ = 4096;
  Statements statements_;  // goes before the connection
  std::unique_ptr<GroupSync> log_;
  std::unique_ptr<Checkpointer> checkpointer_;
  // Around a commit; what is below and above is then its own.
  Mutex commits_;
  Revision last_ = 0;
  Seen seen_;
};

}  // namespace aqua::coordinator
