// SPDX-License-Identifier: Apache-2.0
// What the other programs of these tests have in common: they do what each packet on their socket
// says, and answer with "ok" or what went wrong. All of them know
//   stop-at STEP   from now on "at STEP" is answered there, once, and the thread waits
//   go on          lets it go on; has no answer of its own
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "aqua/result.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/step.hpp"
#include "tests/base/spawned_peer.hpp"

namespace aqua::test::peer {

inline constexpr std::chrono::hours kForever{1};

inline void tell(const std::string& text) {
  const auto sent = send_message(kPeerSocket, std::as_bytes(std::span(text)), {}, kForever);
  if (!sent.ok()) std::_Exit(0);  // the test has gone
}

inline std::string hear() {
  const auto message = receive_message(kPeerSocket, 4096, kForever);
  if (!message.ok() || message->bytes.empty()) std::_Exit(0);
  return {reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size()};
}

template <typename T>
std::string outcome(const Result<T>& result) {
  return result.ok() ? "ok"
                     : std::string(to_string(result.error().code)) + ": " + result.error().message;
}

inline std::mutex mutex;
inline std::condition_variable changed;
inline std::deque<std::string> heard;  // and not yet obeyed
inline std::string stop_at;            // a step
inline bool go_on = false;

inline void on_step(const char* name) {
  std::unique_lock lock(mutex);
  if (stop_at != name) return;
  stop_at.clear();
  tell(std::string("at ") + name);
  changed.wait(lock, [] { return std::exchange(go_on, false); });
}

inline std::string next_heard() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [] { return !heard.empty(); });
  std::string packet = std::move(heard.front());
  heard.pop_front();
  return packet;
}

// `peer.obey(verb, words)` does what a packet says, and returns the answer. It runs on a thread
// beside the one that hears, so that "go on" is heard whatever waits at a step.
template <typename Peer>
[[noreturn]] void obey_forever(Peer& peer) {
  step_hook = on_step;
  std::thread([&peer] {
    for (;;) {
      std::istringstream words(next_heard());
      std::string verb;
      words >> verb;
      tell(peer.obey(verb, words));
    }
  }).detach();
  for (;;) {
    std::string packet = hear();
    const std::lock_guard lock(mutex);
    if (packet == "go on") {
      go_on = true;
    } else if (packet.starts_with("stop-at ")) {
      stop_at = packet.substr(packet.find(' ') + 1);
      tell("ok");
    } else {
      heard.push_back(std::move(packet));
    }
    changed.notify_all();
  }
}

}  // namespace aqua::test::peer
