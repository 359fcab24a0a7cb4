// SPDX-License-Identifier: Apache-2.0
#include "serve/named_step.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>

#include "fd.hpp"

namespace aqua::pipeline {
namespace {

// Whether nobody has made the file before.
bool is_first(const std::filesystem::path& mark) {
  const example::Fd made(::open(mark.c_str(), O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, S_IRUSR));
  return made.valid();
}

// To whoever listens at a socket of this type: that process lives, and nobody else has its number.
// Whether it got it: between two lives of a daemon nobody listens.
bool signal_listener(const std::filesystem::path& path, int type, int signal) {
  const example::Fd made(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
         ::getsockopt(made.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         ::kill(peer.pid, signal) == 0;
}

}  // namespace

void NamedStep::reached(std::string_view step) const {
  for (const AtStep& each : all_) {
    if (each.step == step) reach(each);
  }
}

void NamedStep::reach(const AtStep& wanted) const {
  const int signal = wanted.stops ? SIGSTOP : SIGKILL;
  const std::string what = (wanted.stops ? " stopped at " : " died at ") + wanted.step +
                           (recovers_ ? " after a death" : "");
  if (!wanted.daemon.empty()) {
    const std::filesystem::path mark = wanted.socket.parent_path() / (wanted.daemon + what);
    if (!is_first(mark)) return;
    const bool got = signal_listener(wanted.socket, SOCK_STREAM, signal) ||
                     signal_listener(wanted.socket, SOCK_SEQPACKET, signal);
    // Where it got nowhere, the next process that gets there tries it again.
    if (!got) std::filesystem::remove(mark);
    return;
  }
  if (!is_first(directory_ / (process_ + what))) return;
  (void)::kill(::getpid(), signal);
  for (;;) (void)::pause();
}

}  // namespace aqua::pipeline
