// SPDX-License-Identifier: Apache-2.0
// Another program of these tests as a process: one that obeys (obey.hpp). Needs AQUA_PEER_PROGRAM.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/socket/unix_socket.hpp"
#include "tests/base/spawned_peer.hpp"

namespace aqua::test {

class PeerProgram {
 public:
  explicit PeerProgram(const std::string& keeper, const std::string& program = AQUA_PEER_PROGRAM)
      : process_(SpawnedPeer::spawn({program, keeper}).value()) {}
  // An engine of this coordinator, where the program knows of any.
  struct Coordinator {
    std::string address;
  };
  PeerProgram(const std::string& keeper, const Coordinator& coordinator)
      : process_(SpawnedPeer::spawn({AQUA_PEER_PROGRAM, keeper, coordinator.address}).value()) {}

  // Sends it and waits for the answer; "dead" where none comes.
  std::string ask(const std::string& words) {
    post(words);
    return answer();
  }
  void post(const std::string& words) {
    (void)send_message(process_.socket(), std::as_bytes(std::span(words)), {}, kPatience);
  }
  std::string answer() {
    const auto message = receive_message(process_.socket(), 4096, kPatience);
    if (!message.ok() || message->bytes.empty()) return "dead";
    return {reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size()};
  }
  void kill() { (void)process_.kill(); }
  [[nodiscard]] int socket() const { return process_.socket(); }  // readable: an answer is there
  [[nodiscard]] pid_t pid() const { return process_.pid(); }

 private:
  static constexpr std::chrono::seconds kPatience{60};
  SpawnedPeer process_;
};

}  // namespace aqua::test
