// SPDX-License-Identifier: Apache-2.0
// Lease: that a process goes on, by a file whose time it renews. A process that is stopped does not
// die; whoever waits for it finds by this that it is silent.
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

 private:
  std::mutex mutex_;
  std::condition_variable_any never_;
  std::jthread renewing_;
};

}  // namespace aqua::pipeline
