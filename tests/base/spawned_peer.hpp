// SPDX-License-Identifier: Apache-2.0
// Another process, with a socket to it: what protocols between processes are tested with.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"

namespace aqua::test {

// Where the process finds its end of the socket.
inline constexpr int kPeerSocket = 3;

class SpawnedPeer {
 public:
  // Starts arguments[0], a path; "/proc/self/exe" is the calling program once more. Messages over
  // the socket keep their bounds (base/socket/unix_socket.hpp).
  [[nodiscard]] static Result<SpawnedPeer> spawn(std::vector<std::string> arguments);
  SpawnedPeer(SpawnedPeer&& other) noexcept;
  SpawnedPeer& operator=(SpawnedPeer&&) = delete;
  ~SpawnedPeer();  // kills it

  [[nodiscard]] int socket() const { return socket_.get(); }
  // -1 after it has been waited for. A process that has ended, and was not, is a zombie.
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Waits for its end. The status, as of waitpid().
  int wait();
  // SIGKILL, which a stopped process obeys as well, and waits for its end.
  int kill();

 private:
  SpawnedPeer(UniqueFd socket, pid_t pid);
  UniqueFd socket_;
  pid_t pid_;
};

}  // namespace aqua::test
