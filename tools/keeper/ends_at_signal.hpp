// SPDX-License-Identifier: Apache-2.0
// EndsAtSignal: for as long as it lives one of these signals, which are blocked, ends the process
// at once, as a kill would, with exit status 0. For what takes long and may be cut off anywhere. A
// signal that comes later stays pending for whoever waits for it.
//
// Threads: one of its own, which inherits what its maker has blocked.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <thread>
#include <utility>

#include "aqua/result.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "base/wake_event.hpp"

namespace aqua::keeper {

class EndsAtSignal {
 public:
  // Errors: those of the system, which has no more descriptors.
  [[nodiscard]] static Result<std::unique_ptr<EndsAtSignal>> begin(const sigset_t& signals) {
    UniqueFd pending(::signalfd(-1, &signals, SFD_CLOEXEC));
    if (!pending.valid()) return errno_error("signalfd");
    AQUA_ASSIGN(UniqueFd over, make_wake_event());
    return std::unique_ptr<EndsAtSignal>(new EndsAtSignal(std::move(pending), std::move(over)));
  }
  ~EndsAtSignal() {
    signal_event(over_.get());
    thread_.join();
  }
  EndsAtSignal(const EndsAtSignal&) = delete;
  EndsAtSignal& operator=(const EndsAtSignal&) = delete;

 private:
  EndsAtSignal(UniqueFd pending, UniqueFd over)
      : pending_(std::move(pending)), over_(std::move(over)), thread_([this] { watch(); }) {}

  void watch() const {
    std::array<pollfd, 2> watched{{{.fd = over_.get(), .events = POLLIN, .revents = 0},
                                   {.fd = pending_.get(), .events = POLLIN, .revents = 0}}};
    while (::poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[0].revents == 0) ::_exit(0);
  }

  const UniqueFd pending_, over_;
  std::thread thread_;
};

}  // namespace aqua::keeper
