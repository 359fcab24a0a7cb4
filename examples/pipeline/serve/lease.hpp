// SPDX-License-Identifier: Apache-2.0
// Lease: a process renews it by the time of a file, as long as it runs. A process that is stopped
// does not die, and its pidfd tells nothing; that it is silent, others see by its lease.
//
// Clock: the wall's, as that of files is. Who sets it forward by more than a TTL ends all leases.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

namespace aqua::pipeline {

// Threads: one of its own, which renews four times in a TTL. Errors: Failure, where the file cannot
// be made; one that cannot be renewed runs out.
class Lease {
 public:
  // This process's, in the folder that the pipeline's sockets lie in.
  Lease(const std::filesystem::path& directory, std::chrono::milliseconds ttl);

  // Whether that process has begun to renew, and has not for longer than the TTL.
  [[nodiscard]] static bool ran_out(const std::filesystem::path& directory, pid_t pid,
                                    std::chrono::milliseconds ttl);
  // Of a process that has ended: another one may get its number.
  static void forget(const std::filesystem::path& directory, pid_t pid);

 private:
  std::mutex mutex_;
  std::condition_variable_any stopping_;
  std::jthread renewing_;
};

}  // namespace aqua::pipeline
