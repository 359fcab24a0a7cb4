#include "coordinator/store/checkpointer.hpp"

#include <spdlog/spdlog.h>

#include "base/try.hpp"

namespace aqua::coordinator {
namespace {

// Commits wait for once, or the log grows for ever.
constexpr std::int64_t kRestart = std::int64_t{16} << 20;

}  // namespace

// A connection that has read nothing does not know that there is a log: its checkpoints succeed and
// do nothing.
Result<std::unique_ptr<Checkpointer>> Checkpointer::open(const std::string& path) {
  AQUA_ASSIGN(auto connection, SqliteConnection::open(path));
  AQUA_TRY(connection->ask("PRAGMA schema_version"));
  return std::unique_ptr<Checkpointer>(new Checkpointer(std::move(connection)));
}

Checkpointer::Checkpointer(std::unique_ptr<SqliteConnection> connection)
    : connection_(std::move(connection)), thread_([this] { run(); }) {}

Checkpointer::~Checkpointer() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    woken_.notify_one();
  }
  thread_.join();
}

void Checkpointer::make_way() {
  MutexLock lock(mu_);
  while (restarting_) restarted_.wait(mu_);
}

void Checkpointer::grown(std::int64_t bytes) {
  MutexLock lock(mu_);
  if (bytes < bytes_) next_ = kPassive;  // the log has begun anew
  bytes_ = bytes;
  if (bytes < next_) return;
  next_ = bytes + kPassive;
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
    const bool much = bytes_ >= kRestart;
    checkpoint(SQLITE_CHECKPOINT_PASSIVE);
    if (!much) continue;
    restarting_ = true;
    checkpoint(SQLITE_CHECKPOINT_RESTART);
    restarting_ = false;
    restarted_.notify_all();
  }
}

void Checkpointer::checkpoint(int mode) {
  mu_.unlock();
  const int code = sqlite3_wal_checkpoint_v2(connection_->raw(), nullptr, mode, nullptr, nullptr);
  if (code != SQLITE_OK && code != SQLITE_BUSY)
    spdlog::warn("{}", connection_->error("checkpoint", code).message);
  mu_.lock();
}

}  // namespace aqua::coordinator
