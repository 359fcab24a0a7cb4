// SPDX-License-Identifier: Apache-2.0
#include "base/socket/peer_process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <cerrno>
#include <limits>
#include <sstream>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/read_file.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5
#endif
#ifndef PID_FS_MAGIC
#define PID_FS_MAGIC 0x50494446  // Linux 6.9
#endif

// A PeerProcess names one process for good: its pidfd was open while the pid's start time was read,
// so the two cannot belong to different processes. A pid alone proves nothing, since the kernel
// uses it again; nor does a pidfd opened by pid, before the start time has been compared.
namespace aqua {
namespace {

// Reads field 22 of /proc/<pid>/stat, the start time. 0 when the process is gone.
std::uint64_t start_time_of(std::int64_t pid) {
  const auto text = read_file(concat("/proc/", pid, "/stat"), 4096);
  if (!text.ok()) return 0;
  const std::size_t end_of_name = text->rfind(')');  // the name itself may hold anything
  if (end_of_name == std::string::npos) return 0;
  std::istringstream fields(text->substr(end_of_name + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::uint64_t start = 0;
  fields >> start;
  return start;
}

Error too_old() {
  return {Code::unimplemented,
          "the peer is in another pid namespace, whose processes Linux tells apart from 6.9 on"};
}

Result<UniqueFd> pidfd_of(int socket, std::int64_t pid) {
  int fd = -1;
  socklen_t length = sizeof fd;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) == 0) return UniqueFd(fd);
  // Does not fall back to the pid here: the kernel says that the process is gone, so the pid may be
  // another's by now.
  if (errno == ESRCH || errno == EINVAL)
    return Error{Code::unavailable, concat("process ", pid, " is gone")};
  if (errno != ENOPROTOOPT) return errno_error("SO_PEERPIDFD");
  if (pid == 0) return too_old();
  UniqueFd opened(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
  if (opened.valid()) return opened;
  if (errno == ESRCH)
    return Error{Code::unavailable, concat("pidfd_open: process ", pid, " is gone")};
  return errno_error(concat("pidfd_open ", pid));
}

// The number of a pidfd's file: each process has one of its own for as long as the system runs.
Result<std::uint64_t> number_of(const UniqueFd& pidfd) {
  struct statfs system {};
  struct stat info {};
  if (::fstatfs(pidfd.get(), &system) != 0 || ::fstat(pidfd.get(), &info) != 0)
    return errno_error("pidfd");
  if (system.f_type != PID_FS_MAGIC) return too_old();
  return info.st_ino;
}

}  // namespace

Result<PeerProcess> PeerProcess::of_socket(int fd, PidNamespace from) {
  AQUA_ASSIGN(const ucred credentials, peer_credentials(fd));
  PeerProcess peer;
  peer.pid_ = credentials.pid;
  peer.uid_ = credentials.uid;
  if (peer.pid_ == 0) {
    if (from == PidNamespace::ours) {
      return Error{
          Code::failed_precondition,
          "the peer is in a pid namespace that this process does not see into, so that its "
          "death could not be proven after a restart: run this one in the host's (hostPID "
          "in Kubernetes)"};
    }
    AQUA_ASSIGN(peer.pidfd_, pidfd_of(fd, 0));
    AQUA_ASSIGN(peer.start_time_, number_of(peer.pidfd_));
    if (peer.proven_dead()) return Error{Code::unavailable, "the peer process is gone"};
    return peer;
  }
  const std::uint64_t before = start_time_of(peer.pid_);
  AQUA_ASSIGN(peer.pidfd_, pidfd_of(fd, peer.pid_));
  peer.start_time_ = start_time_of(peer.pid_);
  if (before == 0 || peer.start_time_ != before || peer.proven_dead()) {
    return Error{Code::unavailable, concat("peer process ", peer.pid_, " is gone")};
  }
  return peer;
}

Result<PeerProcess> PeerProcess::of_pid(std::int64_t pid, std::uint64_t start_time) {
  const Error gone{Code::not_found, concat("process ", pid, " has ended")};
  PeerProcess peer;
  peer.pid_ = pid;
  peer.uid_ = std::numeric_limits<std::uint32_t>::max();
  peer.start_time_ = start_time;
  peer.pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
  if (!peer.pidfd_.valid()) {
    if (errno == ESRCH || errno == EINVAL) return gone;
    return errno_error(concat("pidfd_open ", pid));
  }
  // Reads the time after the pidfd was opened, so it cannot be an earlier process's.
  const std::uint64_t started = start_time_of(pid);
  if (peer.proven_dead() || (started != 0 && started != start_time)) return gone;
  if (started == 0)
    return Error{Code::permission_denied, concat("the start time of process ", pid, " is hidden")};
  return peer;
}

bool PeerProcess::proven_dead() const {
  pollfd poll_fd{pidfd_.get(), POLLIN, 0};
  return ::poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLIN) != 0;
}

}  // namespace aqua
