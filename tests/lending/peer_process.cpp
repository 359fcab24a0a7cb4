// SPDX-License-Identifier: Apache-2.0
#include "tests/lending/peer_process.hpp"

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <span>

#include "base/concat.hpp"
#include "base/socket/unix_socket.hpp"

namespace aqua::lending {

Peer::Peer(const std::string& kind)
    : process_(test::SpawnedPeer::spawn({AQUA_LENDING_PEER, kind}).value()) {}

void Peer::tell(const std::string& command) {
  const auto sent = send_message(process_.socket(), std::as_bytes(std::span(command)), {},
                                 std::chrono::seconds(10));
  if (!sent.ok()) std::abort();
}

std::string Peer::hear() {
  const auto message = receive_message(process_.socket(), 4096, std::chrono::seconds(60));
  if (!message.ok()) return message.error().message;
  return {reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size()};
}

std::string Peer::ask(const std::string& command) {
  tell(command);
  return hear();
}

void Peer::signal(int number) const {
  if (process_.pid() <= 0 || ::kill(process_.pid(), number) != 0) std::abort();
}

void Peer::stop() const {
  signal(SIGSTOP);
  int status = 0;
  if (::waitpid(process_.pid(), &status, WUNTRACED) != process_.pid() || !WIFSTOPPED(status))
    std::abort();
}

void Peer::resume() const {
  signal(SIGCONT);
  int status = 0;
  if (::waitpid(process_.pid(), &status, WCONTINUED) != process_.pid() || !WIFCONTINUED(status))
    std::abort();
}

void Peer::kill() {
  if (process_.pid() > 0) (void)process_.kill();
}

std::string import_command(const LeasedSlab& lease) {
  return concat("import ", lease.exchange, " ", to_string(lease.key.producer), " ", lease.key.index,
                " ", lease.key.generation, " ", to_string(lease.secret), " ", lease.bytes);
}

}  // namespace aqua::lending
