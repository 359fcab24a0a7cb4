// SPDX-License-Identifier: Apache-2.0
// SQLite's handles as types: a connection, a prepared statement, and its errors as ours.
//
// Threads: a connection and its statements belong to one thread at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/ids.hpp"

namespace aqua::coordinator {

class SqliteConnection;

class SqliteStatement {
 public:
  // In order from 1. The bound bytes must live until step() has returned.
  template <typename... Values>
  SqliteStatement& bind(const Values&... values) {
    sqlite3_reset(raw_.get());
    int place = 0;
    (put(++place, values), ...);
    return *this;
  }
  // True: there is a row to read; false: done, and ready to be bound again.
  [[nodiscard]] Result<bool> step();
  // For statements that give no rows.
  [[nodiscard]] Result<void> run();

  [[nodiscard]] std::int64_t number(int column) const;
  [[nodiscard]] std::uint64_t count(int column) const {
    return static_cast<std::uint64_t>(number(column));
  }
  [[nodiscard]] bool null(int column) const;
  [[nodiscard]] std::string text(int column) const;
  // nil unless it has 16 bytes.
  template <typename Id>
  [[nodiscard]] Id id(int column) const {
    Id id;
    copy(column, id.bytes);
    return id;
  }

 private:
  friend class SqliteConnection;
  struct Finalize {
    void operator()(sqlite3_stmt* raw) const noexcept { sqlite3_finalize(raw); }
  };
  void put(int place, std::int64_t value) { sqlite3_bind_int64(raw_.get(), place, value); }
  void put(int place, std::uint64_t value) { put(place, static_cast<std::int64_t>(value)); }
  void put(int place, std::uint32_t value) { put(place, std::int64_t{value}); }
  void put(int place, bool value) { put(place, std::int64_t{value}); }
  void put(int place, std::string_view text);
  void put(int place, const std::string& text) { put(place, std::string_view(text)); }
  void put(int place, std::nullptr_t) { sqlite3_bind_null(raw_.get(), place); }
  template <typename Tag>
  void put(int place, const Id128<Tag>& id) {
    sqlite3_bind_blob(raw_.get(), place, id.bytes.data(), static_cast<int>(id.bytes.size()),
                      SQLITE_STATIC);
  }
  void copy(int column, std::array<std::uint8_t, 16>& out) const;

  const SqliteConnection* connection_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> raw_;
};

class SqliteConnection {
 public:
  // Creates the file where there is none.
  [[nodiscard]] static Result<std::unique_ptr<SqliteConnection>> open(const std::string& path);

  [[nodiscard]] Result<SqliteStatement> prepare(const char* sql) const;
  // Statements without rows worth reading.
  [[nodiscard]] Result<void> exec(const char* sql) const;
  // The first column of the first row; "" when there is none.
  [[nodiscard]] Result<std::string> ask(const char* sql) const;
  // Rows that the last statement changed.
  [[nodiscard]] int changed() const { return sqlite3_changes(raw_.get()); }
  // In a transaction another than after this connection's last commit: another one has committed.
  [[nodiscard]] Result<std::uint32_t> data_version() const;
  // Ends a transaction that failed, if it has not ended by itself.
  void roll_back() const;

  // What the caller does next follows from SQLite's code; see Store::commit.
  [[nodiscard]] Error error(std::string_view doing, int code) const;
  [[nodiscard]] sqlite3* raw() const noexcept { return raw_.get(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* raw) const noexcept { sqlite3_close_v2(raw); }
  };
  SqliteConnection(std::string path, sqlite3* raw) : path_(std::move(path)), raw_(raw) {}

  const std::string path_;
  std::unique_ptr<sqlite3, Close> raw_;
};

}  // namespace aqua::coordinator
