// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/checkpointer.hpp"

#include <spdlog/spdlog.h>

#include "base/try.hpp"

namespace aqua::coordinator {

Result<std::unique_ptr<Checkpointer>> Checkpointer::open(const std::string& path,
                                                         const LogLimits& limits) {
  AQUA_ASSIGN(auto connection, SqliteConnection::open(path));
  // GroupSync relies on it: what leaves the log is on the disk. It is not every build's default.
  AQUA_TRY(connection->exec("PRAGMA synchronous = NORMAL"));
  // One that has read nothing does not know that there is a log: its checkpoints succeed and do
  // nothing.
  AQUA_TRY(connection->ask("PRAGMA schema_version"));
  return std::unique_ptr<Checkpointer>(new Checkpointer(std::move(connection), limits));
}

Checkpointer::Checkpointer(std::unique_ptr<SqliteConnection> connection, const LogLimits& limits)
    : connection_(std::move(connection)),
      limits_(limits),
      next_(limits.copy),
      thread_([this] { run(); }) {}

Checkpointer::~Checkpointer() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    woken_.notify_one();
  }
  thread_.join();
}

Checkpointer::Commit::Commit(Checkpointer& checkpointer) : checkpointer_(checkpointer) {
  MutexLock lock(checkpointer_.mu_);
  while (checkpointer_.restarting_) checkpointer_.turn_.wait(checkpointer_.mu_);
  checkpointer_.committing_ = true;
}

Checkpointer::Commit::~Commit() {
  MutexLock lock(checkpointer_.mu_);
  checkpointer_.committing_ = false;
  if (checkpointer_.restarting_) checkpointer_.turn_.notify_all();
}

void Checkpointer::grown(std::int64_t bytes) {
  MutexLock lock(mu_);
  if (bytes < bytes_) next_ = limits_.copy;  // the log has begun anew
  bytes_ = bytes;
  if (bytes < next_) return;
  next_ = bytes + limits_.copy;
  wanted_ = true;
  woken_.notify_one();
}

void Checkpointer::run() {
  MutexLock lock(mu_);
  while (!stopping_) {
    if (!wanted_) {
      woken_.wait(mu_);
      continue;
    }
    wanted_ = false;
    // Most of it beside the commits; what came meanwhile, only when there is far too much, in
    // their place. A log whose pages have all been copied starts anew with the next commit.
    const bool much = bytes_ >= limits_.restart;
    if (!checkpoint(SQLITE_CHECKPOINT_PASSIVE) || !much) continue;
    restarting_ = true;
    while (committing_) turn_.wait(mu_);
    (void)checkpoint(SQLITE_CHECKPOINT_RESTART);
    restarting_ = false;
    turn_.notify_all();
  }
}

bool Checkpointer::checkpoint(int mode) {
  mu_.unlock();
  const int code = sqlite3_wal_checkpoint_v2(connection_->raw(), nullptr, mode, nullptr, nullptr);
  if (code != SQLITE_OK && code != SQLITE_BUSY)
    spdlog::warn("{}", connection_->error("checkpoint", code).message);
  mu_.lock();
  return code == SQLITE_OK;
}

}  // namespace aqua::coordinator
