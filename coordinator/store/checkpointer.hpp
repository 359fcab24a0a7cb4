// Checkpointer moves the write-ahead log back into the database file on a thread of its own, so
// that no request waits for the two fsync() of it.
//
// Threads: make_way() and grown() from the writer; one thread of its own with a connection of its
// own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.hpp"
#include "coordinator/store/sqlite.hpp"

namespace aqua::coordinator {

class Checkpointer {
 public:
  // Of the database at `path`, which has a write-ahead log. Errors as SqliteConnection::open.
  [[nodiscard]] static Result<std::unique_ptr<Checkpointer>> open(const std::string& path);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Before each commit: waits while the log is begun anew, which commits that follow each other
  // without a gap would never let happen.
  void make_way();
  // The log has so many bytes now.
  void grown(std::int64_t bytes);

 private:
  static constexpr std::int64_t kPassive = std::int64_t{4} << 20;  // copied while commits go on

  explicit Checkpointer(std::unique_ptr<SqliteConnection> connection);
  void run();
  void checkpoint(int mode) AQUA_REQUIRES(mu_);  // which is not held meanwhile

  const std::unique_ptr<SqliteConnection> connection_;
  Mutex mu_;
  CondVar woken_;
  CondVar restarted_;
  std::int64_t bytes_ AQUA_GUARDED_BY(mu_) = 0;
  std::int64_t next_ AQUA_GUARDED_BY(mu_) = kPassive;
  bool wanted_ AQUA_GUARDED_BY(mu_) = false;
  bool restarting_ AQUA_GUARDED_BY(mu_) = false;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aqua::coordinator
