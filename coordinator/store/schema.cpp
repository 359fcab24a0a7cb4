// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/schema.hpp"

#include <array>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::coordinator {
namespace {

constexpr int kApplicationId = 0x41515541;  // "AQUA", for file(1) and for us

// kSteps[n] takes version n to n + 1. A step that has been released never changes.
constexpr std::array<const char*, kSchemaVersion> kSteps{
    R"(
CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('revision', 0);
CREATE TABLE client(
  id BLOB PRIMARY KEY, boot TEXT NOT NULL, name TEXT NOT NULL, device BLOB NOT NULL,
  device_name TEXT NOT NULL, server TEXT NOT NULL, domain TEXT NOT NULL, exchange TEXT NOT NULL,
  producer INTEGER NOT NULL, consumer INTEGER NOT NULL, pid INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE slab(
  producer BLOB NOT NULL, number INTEGER NOT NULL, boot TEXT NOT NULL, bytes INTEGER NOT NULL,
  state TEXT NOT NULL, generation INTEGER NOT NULL, secret BLOB NOT NULL, holder BLOB,
  reclaim INTEGER NOT NULL, granted INTEGER NOT NULL, late INTEGER NOT NULL,
  PRIMARY KEY(producer, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE reclaim(
  id INTEGER PRIMARY KEY, boot TEXT NOT NULL, producer BLOB NOT NULL, wanted INTEGER NOT NULL,
  returned INTEGER NOT NULL, started_ms INTEGER NOT NULL, deadline_ms INTEGER NOT NULL,
  done INTEGER NOT NULL
) STRICT;
CREATE TABLE pair(
  consumer BLOB PRIMARY KEY, boot TEXT NOT NULL, producer BLOB NOT NULL,
  explicit INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)",
    // Which process a client is, so that its death can be proven after a restart.
    R"(
ALTER TABLE client ADD COLUMN started INTEGER NOT NULL DEFAULT 0;
INSERT INTO meta VALUES('namespaces', '');
)",
    // When a reclaim ended; of former ones only the deadline is known.
    R"(
ALTER TABLE reclaim ADD COLUMN ended_ms INTEGER NOT NULL DEFAULT 0;
UPDATE reclaim SET ended_ms = deadline_ms WHERE done = 1;
)",
    // An operator's drain outlives the daemon.
    R"(
ALTER TABLE client ADD COLUMN draining INTEGER NOT NULL DEFAULT 0;
)",
    // Whose process a client is; of former ones nobody knows (ledger::kUnknownUser). Holders that a
    // former exporter declared were believed, and are as if they had been granted what they hold.
    R"(
ALTER TABLE client ADD COLUMN uid INTEGER NOT NULL DEFAULT 4294967295;
UPDATE slab SET granted = (SELECT max(granted) FROM slab) + 1 WHERE granted = 0 AND holder IS NOT NULL;
)",
    // Groups: "group" is a word of SQL.
    R"(
CREATE TABLE pipeline_group(
  id BLOB PRIMARY KEY, boot TEXT NOT NULL, name TEXT NOT NULL, creator BLOB NOT NULL,
  creator_gone INTEGER NOT NULL, uid INTEGER NOT NULL, model TEXT NOT NULL, dtype TEXT NOT NULL,
  layout TEXT NOT NULL, prefill_stages INTEGER NOT NULL, prefill_tensor INTEGER NOT NULL,
  decode_stages INTEGER NOT NULL, decode_tensor INTEGER NOT NULL, state TEXT NOT NULL,
  term INTEGER NOT NULL, joins INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE group_member(
  pipeline_group BLOB NOT NULL, client BLOB NOT NULL, boot TEXT NOT NULL, name TEXT NOT NULL,
  role TEXT, stage INTEGER NOT NULL, tensor INTEGER NOT NULL, joined INTEGER NOT NULL,
  PRIMARY KEY(pipeline_group, client)
) STRICT, WITHOUT ROWID;
)"};

Result<void> take_step(const SqliteConnection& connection, int version) {
  AQUA_TRY(connection.exec("BEGIN IMMEDIATE"));
  const std::string pragma = concat("PRAGMA user_version = ", version + 1);
  for (const char* sql : {kSteps.at(static_cast<std::size_t>(version)), pragma.c_str(), "COMMIT"}) {
    if (auto done = connection.exec(sql); !done.ok()) {
      connection.roll_back();
      return done;
    }
  }
  return {};
}

// A trigger or a view is a program in the file, which may never end. We write none.
Result<void> refuse_programs(const SqliteConnection& connection) {
  AQUA_ASSIGN(const std::string name,
              connection.ask("SELECT type || ' ' || name FROM sqlite_schema"
                             " WHERE type NOT IN ('table', 'index') LIMIT 1"));
  if (name.empty()) return {};
  return Error{Code::data_loss, concat("store: ", connection.path(), " has the ", name,
                                       ", which is not ours; move it away")};
}

}  // namespace

Result<void> migrate(const SqliteConnection& connection) {
  AQUA_ASSIGN(const std::string application, connection.ask("PRAGMA application_id"));
  AQUA_ASSIGN(const std::string found, connection.ask("PRAGMA user_version"));
  AQUA_ASSIGN(const std::string tables, connection.ask("SELECT count(*) FROM sqlite_schema"));
  if (tables != "0" && application != concat(kApplicationId)) {
    return Error{Code::data_loss, concat("store: ", connection.path(),
                                         " is a database of some other program; move it away")};
  }
  AQUA_TRY(refuse_programs(connection));
  const int version = std::atoi(found.c_str());
  if (version < 0) {
    return Error{Code::data_loss, concat("store: ", connection.path(), " has version ", version,
                                         ", which no program wrote; move it away")};
  }
  if (version > kSchemaVersion) {
    return Error{
        Code::failed_precondition,
        concat("store: ", connection.path(), " has version ", version, ", this program knows ",
               kSchemaVersion, ": run the later program, or move the file away")};
  }
  if (tables == "0") AQUA_TRY(connection.exec("PRAGMA application_id = 0x41515541"));
  for (int at = version; at < kSchemaVersion; ++at) AQUA_TRY(take_step(connection, at));
  return {};
}

}  // namespace aqua::coordinator
