// SPDX-License-Identifier: Apache-2.0
// The process at the other end of a Unix socket, held by a pidfd: its death can be awaited
// and proven, and its pid cannot be mistaken for a later process's.
//
// Threads: immutable after opening; concurrent calls are fine.
#pragma once

#include <cstdint>
#include <string>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"

namespace aqua {

// Which processes may be at the other end: those to which this process's pid namespace gives a
// number, or all, also those of other containers.
enum class PidNamespace { ours, any };

class PeerProcess {
 public:
  // Opens the process that connected a socket (SO_PEERCRED). Its pidfd comes from SO_PEERPIDFD or,
  // on a kernel without it, from pidfd_open, checked against the start time before and after.
  // Errors: unavailable when the process is gone already. Of one that has no number in this pid
  // namespace: failed_precondition where `from` is ours; unimplemented before Linux 6.9, which is
  // the first to tell such processes apart.
  [[nodiscard]] static Result<PeerProcess> of_socket(int fd,
                                                     PidNamespace from = PidNamespace::ours);

  // Opens the process that has this pid and start time. Its uid() is unknown and reads as the
  // highest number. not_found when it has ended, proven; permission_denied when its start time is
  // hidden.
  [[nodiscard]] static Result<PeerProcess> of_pid(std::int64_t pid, std::uint64_t start_time);

  // Tells a process from every other one since boot. One that has no number in this pid namespace
  // has 0 for a pid, and the number of its pidfd's file, which is its own, for a start time.
  struct Identity {
    std::int64_t pid = 0;
    std::uint64_t start_time = 0;  // in clock ticks since boot
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  [[nodiscard]] Identity identity() const noexcept { return {pid_, start_time_}; }
  [[nodiscard]] std::int64_t pid() const noexcept { return pid_; }
  [[nodiscard]] std::uint32_t uid() const noexcept { return uid_; }
  [[nodiscard]] std::uint64_t start_time() const noexcept { return start_time_; }
  // Readable (POLLIN) once the process has ended; its mappings are gone by then.
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
  [[nodiscard]] bool proven_dead() const;
  [[nodiscard]] bool same_process(const PeerProcess& other) const noexcept {
    return identity() == other.identity();
  }

 private:
  PeerProcess() = default;
  std::int64_t pid_ = 0;
  std::uint32_t uid_ = 0;
  std::uint64_t start_time_ = 0;
  UniqueFd pidfd_;
};

}  // namespace aqua
