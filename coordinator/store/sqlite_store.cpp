// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/sqlite_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "coordinator/store/schema.hpp"

namespace aqua::coordinator {
namespace {

// A damaged file answers a question about its version with an error, too.
Result<void> check_pages(const SqliteConnection& connection) {
  AQUA_ASSIGN(const std::string verdict, connection.ask("PRAGMA quick_check(1)"));
  if (verdict == "ok") return {};
  return connection.error(concat("check (", verdict, ")"), SQLITE_CORRUPT);
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& directory, Host host,
                                                       const LogLimits& limits) {
  const std::string path = directory + "/ledger.db";
  AQUA_ASSIGN(auto connection, SqliteConnection::open(path));
  // Sets the page size of a new file; one that is there keeps its own. A commit writes whole pages,
  // of rows that are small: a quarter of the usual size is a quarter of the bytes.
  AQUA_TRY(connection->exec("PRAGMA page_size = 1024"));
  AQUA_ASSIGN(const std::string mode, connection->ask("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return Error{Code::unavailable,
                 concat("store: ", path, " cannot have a write-ahead log (", mode, ")")};
  }
  AQUA_TRY(
      connection->exec("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;"
                       "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY"));
  AQUA_TRY(check_pages(*connection));
  AQUA_TRY(migrate(*connection));
  // The log of a killed daemon goes into the file now, or daemons that die young would read an
  // ever longer one. Where that fails (no space) the log stays, and what is in it counts.
  sqlite3_wal_checkpoint_v2(connection->raw(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                            nullptr);
  std::unique_ptr<SqliteStore> store(new SqliteStore(std::move(host), std::move(connection)));
  AQUA_ASSIGN(const std::string page, store->connection_->ask("PRAGMA page_size"));
  (void)std::from_chars(page.data(), page.data() + page.size(), store->page_bytes_);
  AQUA_TRY(store->prepare());
  AQUA_TRY(store->open_log(directory));
  AQUA_ASSIGN(store->checkpointer_, Checkpointer::open(path, limits));
  sqlite3_wal_hook(store->connection_->raw(), log_grown, store.get());
  return store;
}

SqliteStore::SqliteStore(Host host, std::unique_ptr<SqliteConnection> connection)
    : host_(std::move(host)), connection_(std::move(connection)) {}

int SqliteStore::log_grown(void* store, sqlite3*, const char*, int pages) {
  const auto* self = static_cast<const SqliteStore*>(store);
  self->checkpointer_->grown(pages * self->page_bytes_);
  return SQLITE_OK;
}

// Closing the last connection moves the log into the file.
SqliteStore::~SqliteStore() {
  sqlite3_wal_hook(connection_->raw(), nullptr, nullptr);
}

// Takes a descriptor of the log beside SQLite's own; SQLite keeps no locks on that file that
// closing ours could lose. The directory must know the files before the first sync() is worth
// anything. Beginning to write makes the log, where there is none.
Result<void> SqliteStore::open_log(const std::string& directory) {
  AQUA_TRY(connection_->exec("BEGIN IMMEDIATE; COMMIT"));
  const std::string path = connection_->path() + "-wal";
  UniqueFd log(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!log.valid()) return errno_error(concat("store: open ", path));
  const UniqueFd place(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place.valid() || ::fsync(place.get()) != 0)
    return errno_error(concat("store: fsync ", directory));
  log_ = std::make_unique<GroupSync>(std::move(log));
  return {};
}

Result<void> SqliteStore::prepare() {
  const auto make = [&](SqliteStatement& statement, const char* sql) -> Result<void> {
    AQUA_ASSIGN(statement, connection_->prepare(sql));
    return {};
  };
  Statements& s = statements_;
  AQUA_TRY(make(s.begin, "BEGIN IMMEDIATE"));
  AQUA_TRY(make(s.commit, "COMMIT"));
  AQUA_TRY(make(s.put_revision, "UPDATE meta SET value = ? WHERE key = 'revision' AND value = ?"));
  AQUA_TRY(make(s.put_client, rows::kPutClient));
  AQUA_TRY(make(s.put_slab, rows::kPutSlab));
  AQUA_TRY(make(s.put_reclaim, rows::kPutReclaim));
  AQUA_TRY(make(s.put_pair, rows::kPutPair));
  AQUA_TRY(make(s.drop_client, "DELETE FROM client WHERE id = ?"));
  AQUA_TRY(make(s.drop_slab, "DELETE FROM slab WHERE producer = ? AND number = ?"));
  AQUA_TRY(make(s.drop_reclaim, "DELETE FROM reclaim WHERE id = ?"));
  AQUA_TRY(make(s.drop_pair, "DELETE FROM pair WHERE consumer = ?"));
  AQUA_ASSIGN(s.groups, rows::GroupStatements::prepare(*connection_));
  return {};
}

template <typename Work>
Result<void> SqliteStore::transact(Work&& work) {
  const Checkpointer::Commit turn(*checkpointer_);
  AQUA_TRY(statements_.begin.run());
  Result<void> done = std::forward<Work>(work)();
  if (done.ok()) done = statements_.commit.run();
  if (!done.ok()) connection_->roll_back();
  return done;
}

// Whoever loads raises the revision in the file: it is compared where SQLite has seen anything but
// our own commits, and not at each of these, of which it would be half.
Result<Revision> SqliteStore::be_alone(bool write) {
  AQUA_ASSIGN(const std::uint32_t version, connection_->data_version());
  if (version == seen_.version && !write) return seen_.revision;
  AQUA_TRY(statements_.put_revision.bind(last_ + 1, seen_.revision).run());
  if (connection_->changed() == 1) return last_ + 1;
  return Error{Code::aborted, concat("store: ", connection_->path(), " is beyond our revision ",
                                     seen_.revision, ": another coordinator writes here")};
}

Result<Stored> SqliteStore::load() {
  Stored stored;
  auto loaded = transact([&] { return load_into(stored); });
  if (!loaded.ok()) return std::move(loaded).error();
  AQUA_ASSIGN(seen_.version, connection_->data_version());
  stored.revision = ++last_;
  log_->wrote(last_);
  return stored;
}

Result<void> SqliteStore::load_into(Stored& stored) {
  AQUA_ASSIGN(stored.former_rows, rows::drop_other_boots(*connection_, host_.boot));
  AQUA_ASSIGN(stored.image, rows::read_all(*connection_));
  AQUA_ASSIGN(stored.groups, rows::read_groups(*connection_));
  AQUA_ASSIGN(const std::string revision,
              connection_->ask("SELECT value FROM meta WHERE key = 'revision'"));
  last_ = seen_.revision = std::strtoull(revision.c_str(), nullptr, 10);
  AQUA_ASSIGN(stored.namespaces,
              connection_->ask("SELECT value FROM meta WHERE key = 'namespaces'"));
  AQUA_ASSIGN(SqliteStatement names,
              connection_->prepare("UPDATE meta SET value = ? WHERE key = 'namespaces'"));
  AQUA_TRY(names.bind(host_.namespaces).run());
  AQUA_ASSIGN(seen_.revision, be_alone(true));  // whoever loaded before must not write any more
  return {};
}

Result<Revision> SqliteStore::commit(const WriteSet& rows) {
  MutexLock lock(commits_);
  Revision in_file = 0;
  auto done = transact([&]() -> Result<void> {
    AQUA_ASSIGN(in_file, be_alone(rows.empty()));
    AQUA_TRY(drop(rows));
    AQUA_TRY(put(rows.put));
    return statements_.groups.write(rows, host_.boot);
  });
  if (!done.ok()) return std::move(done).error();
  AQUA_ASSIGN(const std::uint32_t version, connection_->data_version());
  seen_ = {in_file, version};
  log_->wrote(++last_);
  return last_;
}

Result<void> SqliteStore::drop(const WriteSet& rows) {
  for (const ClientId& id : rows.clients_gone) AQUA_TRY(statements_.drop_client.bind(id).run());
  for (const ledger::SlabId& id : rows.slabs_gone)
    AQUA_TRY(statements_.drop_slab.bind(id.producer, id.index).run());
  for (const std::uint64_t id : rows.reclaims_gone)
    AQUA_TRY(statements_.drop_reclaim.bind(id).run());
  for (const ClientId& id : rows.pairs_gone) AQUA_TRY(statements_.drop_pair.bind(id).run());
  return {};
}

Result<void> SqliteStore::put(const ledger::Image& image) {
  for (const auto& row : image.clients)
    AQUA_TRY(rows::bind(statements_.put_client, row, host_.boot).run());
  for (const auto& row : image.slabs)
    AQUA_TRY(rows::bind(statements_.put_slab, row, host_.boot).run());
  for (const auto& row : image.reclaims)
    AQUA_TRY(rows::bind(statements_.put_reclaim, row, host_.boot).run());
  for (const auto& row : image.pairs)
    AQUA_TRY(rows::bind(statements_.put_pair, row, host_.boot).run());
  return {};
}

Result<void> SqliteStore::sync(Revision revision) {
  return log_->sync(revision);
}

}  // namespace aqua::coordinator
