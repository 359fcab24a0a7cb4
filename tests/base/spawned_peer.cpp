// SPDX-License-Identifier: Apache-2.0
#include "tests/base/spawned_peer.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"

namespace aqua::test {

Result<SpawnedPeer> SpawnedPeer::spawn(std::vector<std::string> arguments) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return errno_error("socketpair");
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), kPeerSocket);
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return Error{Code::internal, concat("cannot start ", arguments[0], ": error ", failed)};
  return SpawnedPeer(std::move(ours), pid);
}

SpawnedPeer::SpawnedPeer(UniqueFd socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}

SpawnedPeer::SpawnedPeer(SpawnedPeer&& other) noexcept
    : socket_(std::move(other.socket_)), pid_(std::exchange(other.pid_, -1)) {}

SpawnedPeer::~SpawnedPeer() {
  if (pid_ > 0) (void)kill();
}

int SpawnedPeer::wait() {
  int status = 0;
  (void)::waitpid(std::exchange(pid_, -1), &status, 0);
  return status;
}

int SpawnedPeer::kill() {
  ::kill(pid_, SIGKILL);
  return wait();
}

}  // namespace aqua::test
