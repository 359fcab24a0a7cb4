// SPDX-License-Identifier: Apache-2.0
// Checkpointer moves the write-ahead log back into the database file on a thread of its own.
// Commits go on beside it; only while a log that has grown far under unbroken load is begun anew do
// they wait, for an fsync of each file.
//
// Threads: Commit and grown() from the writer; one thread of its own with a connection of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.hpp"
#include "coordinator/store/sqlite.hpp"

namespace aqua::coordinator {

// Bytes of the log.
struct LogLimits {
  std::int64_t copy = std::int64_t{4} << 20;      // each time it has grown so far, beside commits
  std::int64_t restart = std::int64_t{16} << 20;  // begun anew, in their place
};

class Checkpointer {
 public:
  // Opens the database at `path`, which has a write-ahead log. Errors as SqliteConnection::open.
  [[nodiscard]] static Result<std::unique_ptr<Checkpointer>> open(const std::string& path,
                                                                  const LogLimits& limits);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // While it lives the log is not begun anew; it waits while that is under way. Commits that follow
  // each other without a gap would never let it happen, and SQLite waits by sleeping.
  class Commit {
   public:
    explicit Commit(Checkpointer& checkpointer);
    ~Commit();
    Commit(const Commit&) = delete;
    Commit& operator=(const Commit&) = delete;

   private:
    Checkpointer& checkpointer_;
  };
  // The log has so many bytes now.
  void grown(std::int64_t bytes);

 private:
  Checkpointer(std::unique_ptr<SqliteConnection> connection, const LogLimits& limits);

  void run();
  bool checkpoint(int mode) AQUA_REQUIRES(mu_);  // which is not held meanwhile; false: it failed

  const std::unique_ptr<SqliteConnection> connection_;
  const LogLimits limits_;
  Mutex mu_;
  CondVar woken_;
  CondVar turn_;  // of the commits, or of the restart
  std::int64_t bytes_ AQUA_GUARDED_BY(mu_) = 0;
  std::int64_t next_ AQUA_GUARDED_BY(mu_);
  bool wanted_ AQUA_GUARDED_BY(mu_) = false;
  bool committing_ AQUA_GUARDED_BY(mu_) = false;
  bool restarting_ AQUA_GUARDED_BY(mu_) = false;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aqua::coordinator
