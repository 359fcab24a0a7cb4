// SPDX-License-Identifier: Apache-2.0
#include "tests/lending/peer_process.hpp"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <span>

#include "base/concat.hpp"
#include "base/unix_socket.hpp"

namespace aqua::lending {

Peer::Peer(const std::string& kind) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
  socket_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), kPeerSocket);
  std::string program = AQUA_LENDING_PEER;
  std::string device = kind;
  std::array<char*, 3> argv{program.data(), device.data(), nullptr};
  pid_t pid = -1;
  if (::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ) != 0)
    std::abort();
  ::posix_spawn_file_actions_destroy(&actions);
  pid_ = pid;
}

Peer::~Peer() {
  kill();
}

void Peer::tell(const std::string& command) {
  const auto sent =
      send_message(socket_.get(), std::as_bytes(std::span(command)), {}, std::chrono::seconds(10));
  if (!sent.ok()) std::abort();
}

std::string Peer::hear() {
  const auto message = receive_message(socket_.get(), 4096, std::chrono::seconds(60));
  if (!message.ok()) return message.error().message;
  return {reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size()};
}

std::string Peer::ask(const std::string& command) {
  tell(command);
  return hear();
}

void Peer::signal(int number) const {
  if (pid_ <= 0 || ::kill(pid_, number) != 0) std::abort();
}

void Peer::stop() const {
  signal(SIGSTOP);
  int status = 0;
  if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status)) std::abort();
}

void Peer::resume() const {
  signal(SIGCONT);
  int status = 0;
  if (::waitpid(pid_, &status, WCONTINUED) != pid_ || !WIFCONTINUED(status)) std::abort();
}

void Peer::kill() {
  if (pid_ < 0) return;
  signal(SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) != pid_ || WIFSTOPPED(status)) {
  }
  pid_ = -1;
}

std::string import_command(const LeasedSlab& lease) {
  return concat("import ", lease.exchange, " ", to_string(lease.key.producer), " ", lease.key.index,
                " ", lease.key.generation, " ", to_string(lease.secret), " ", lease.bytes);
}

}  // namespace aqua::lending
