// SPDX-License-Identifier: Apache-2.0
#include "handoff/keeper_link.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/errno_error.hpp"
#include "base/try.hpp"

namespace aqua {

Result<std::unique_ptr<KeeperLink>> KeeperLink::make(int connection, UniqueFd wake) {
  // The connection is shut down from another thread than the one that closes it after an error: by
  // a descriptor of its own, whose number cannot be another file's by then.
  UniqueFd own(::fcntl(connection, F_DUPFD_CLOEXEC, 0));
  if (!own.valid()) return errno_error("keeper: connection");
  AQUA_ASSIGN(UniqueFd kick, make_wake_event());
  return std::unique_ptr<KeeperLink>(
      new KeeperLink(std::move(own), std::move(wake), std::move(kick)));
}

KeeperLink::KeeperLink(UniqueFd connection, UniqueFd wake, UniqueFd kick)
    : connection_(std::move(connection)), wake_(std::move(wake)), kick_(std::move(kick)) {}

void KeeperLink::start(Calls calls) {
  calls_ = std::move(calls);
  thread_ = std::thread([this] { run(); });
}

void KeeperLink::stop(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return;
  {
    const auto begun = std::chrono::steady_clock::now();
    const MutexLock lock(mu_);
    ending_ = true;
    kick();
    while (!ended_) {
      if (!asked_) {
        changed_.wait(mu_);
        continue;
      }
      const auto deadline = std::max(*asked_, begun) + patience;
      if (std::chrono::steady_clock::now() >= deadline) {
        ::shutdown(connection_.get(), SHUT_RDWR);
        break;
      }
      (void)changed_.wait_until(mu_, deadline);
    }
  }
  thread_.join();
}

void KeeperLink::set_asked(std::optional<std::chrono::steady_clock::time_point> when) {
  const MutexLock lock(mu_);
  asked_ = when;
  changed_.notify_all();
}

bool KeeperLink::ending() {
  const MutexLock lock(mu_);
  return ending_;
}

void KeeperLink::run() {
  for (;;) {
    const bool last = ending();
    const Turn turn = calls_.turn(last);
    if (turn == Turn::asked) continue;
    if (last) break;
    wait(turn == Turn::idle);
  }
  const MutexLock lock(mu_);
  ended_ = true;
  changed_.notify_all();
}

void KeeperLink::wait(bool connected) const {
  std::array<pollfd, 3> polled{{{kick_.get(), POLLIN, 0},
                                {connected ? wake_.get() : -1, POLLIN, 0},
                                {connected ? connection_.get() : -1, POLLIN | POLLRDHUP, 0}}};
  if (::poll(polled.data(), polled.size(), -1) < 0) return;  // EINTR
  if (polled[0].revents != 0) clear_event(kick_.get());
  if (polled[1].revents != 0) {
    clear_event(wake_.get());
    calls_.woken();
  }
  if (polled[2].revents != 0) calls_.closed();  // nothing comes unasked but the end
}

}  // namespace aqua
