// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/sqlite.hpp"

#include <algorithm>
#include <cstring>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::coordinator {
namespace {

// The way in which SQLite locks the file: no other process may have it open, so that our
// connections need no system calls to agree with each other.
constexpr const char* kOneProcess = "unix-excl";
constexpr int kBusyMs = 5000;  // for whoever has the file to let go

Code code_of(int sqlite) {
  switch (sqlite & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return Code::resource_exhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CONSTRAINT:  // of types: a row that none of us has written
    case SQLITE_MISMATCH:
      return Code::data_loss;
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return Code::permission_denied;
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Code::unavailable;
    default:
      return Code::internal;
  }
}

std::string_view next_step(Code code, int sqlite) {
  if ((sqlite & 0xff) == SQLITE_BUSY) return "; another program has it open: end that";
  switch (code) {
    case Code::resource_exhausted:
      return "; free space there";
    case Code::data_loss:
      return "; the file is damaged: move it away, local leases will be declared anew "
             "(docs/operate/operations.md, 'The database is damaged')";
    case Code::permission_denied:
    case Code::unavailable:
      return "; see whether the disk is writable and healthy";
    default:
      return "";
  }
}

}  // namespace

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
      kOneProcess);
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(path, raw));
  if (raw == nullptr) return Error{Code::resource_exhausted, "sqlite: out of memory"};
  if (code != SQLITE_OK) return connection->error("open", code);
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyMs);
  return connection;
}

Error SqliteConnection::error(std::string_view doing, int code) const {
  const Code ours = code_of(code);
  // Extended codes and errno tell a full disk from a broken one.
  const int system = sqlite3_system_errno(raw_.get());
  return Error{ours, concat("store: ", doing, " ", path_, ": ", sqlite3_errmsg(raw_.get()), " (",
                            sqlite3_errstr(code), system == 0 ? "" : ", ",
                            system == 0 ? "" : std::strerror(system), ")", next_step(ours, code))};
}

Result<SqliteStatement> SqliteConnection::prepare(const char* sql) const {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v3(raw_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return error(concat("prepare '", sql, "' in"), code);
  SqliteStatement statement;
  statement.connection_ = this;
  statement.raw_.reset(raw);
  return statement;
}

Result<void> SqliteConnection::exec(const char* sql) const {
  const int code = sqlite3_exec(raw_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error("write", code);
  return {};
}

Result<std::string> SqliteConnection::ask(const char* sql) const {
  AQUA_ASSIGN(SqliteStatement statement, prepare(sql));
  AQUA_ASSIGN(const bool row, statement.step());
  return row ? statement.text(0) : std::string();
}

Result<std::uint32_t> SqliteConnection::data_version() const {
  std::uint32_t version = 0;
  const int code = sqlite3_file_control(raw_.get(), "main", SQLITE_FCNTL_DATA_VERSION, &version);
  if (code != SQLITE_OK) return error("look at", code);
  return version;
}

void SqliteConnection::roll_back() const {
  if (sqlite3_get_autocommit(raw_.get()) == 0)
    sqlite3_exec(raw_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<bool> SqliteStatement::step() {
  const int code = sqlite3_step(raw_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(raw_.get());
    return false;
  }
  Error error = connection_->error("write", code);
  sqlite3_reset(raw_.get());
  return error;
}

Result<void> SqliteStatement::run() {
  AQUA_TRY(step());
  sqlite3_reset(raw_.get());
  return {};
}

std::int64_t SqliteStatement::number(int column) const {
  return sqlite3_column_int64(raw_.get(), column);
}

bool SqliteStatement::null(int column) const {
  return sqlite3_column_type(raw_.get(), column) == SQLITE_NULL;
}

std::string SqliteStatement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(raw_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(raw_.get(), column))};
}

void SqliteStatement::put(int place, std::string_view text) {
  sqlite3_bind_text(raw_.get(), place, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

void SqliteStatement::copy(int column, std::array<std::uint8_t, 16>& out) const {
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(raw_.get(), column));
  if (bytes == nullptr || sqlite3_column_bytes(raw_.get(), column) != static_cast<int>(out.size()))
    return;
  std::copy_n(bytes, out.size(), out.begin());
}

}  // namespace aqua::coordinator
