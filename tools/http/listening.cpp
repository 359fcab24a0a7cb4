// SPDX-License-Identifier: Apache-2.0
#include "tools/http/listening.hpp"

#include <httplib.h>

#include <chrono>
#include <utility>

namespace aqua::http {
namespace {

constexpr std::chrono::milliseconds kPause{100};  // before the server is bound again

}  // namespace

Listening::Listening(httplib::Server& server, Bind bind)
    : server_(server), bind_(std::move(bind)), thread_([this] { run(); }) {}

Listening::~Listening() {
  {
    const MutexLock lock(mu_);
    ending_ = true;
    changed_.notify_all();
  }
  // A stop() before the server runs would be forgotten.
  while (!over_ && !server_.is_running()) std::this_thread::yield();
  server_.stop();
  thread_.join();
}

void Listening::run() {
  do {
    (void)server_.listen_after_bind();
    server_.stop();  // without which later releases are not bound again
  } while (bind_again());
  over_ = true;
}

bool Listening::bind_again() {
  const MutexLock lock(mu_);
  do {
    const auto until = std::chrono::steady_clock::now() + kPause;
    while (!ending_ && changed_.wait_until(mu_, until)) continue;
    if (ending_) return false;
  } while (!bind_());
  return true;
}

}  // namespace aqua::http
