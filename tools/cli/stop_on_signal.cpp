// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/stop_on_signal.hpp"

#include <pthread.h>

namespace aqua::tool {
namespace {

// Tells the thread that nobody waits any more; never let through, so it harms no thread.
constexpr int kOver = SIGUSR2;

}  // namespace

StopOnSignal::StopOnSignal() {
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM, kOver}) sigaddset(&signals_, number);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] { await(); });
}

StopOnSignal::~StopOnSignal() {
  pthread_kill(thread_.native_handle(), kOver);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopOnSignal::await() {
  int number = 0;
  sigwait(&signals_, &number);
  if (number == kOver) return;
  sigset_t ending = signals_;
  sigdelset(&ending, kOver);
  pthread_sigmask(SIG_UNBLOCK, &ending, nullptr);  // here alone: a second one finds this thread …
  stop_.request_stop();
  sigset_t over;
  sigemptyset(&over);
  sigaddset(&over, kOver);
  sigwait(&over, &number);  // … for as long as the stop takes
}

}  // namespace aqua::tool
