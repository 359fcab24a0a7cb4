// SPDX-License-Identifier: Apache-2.0
// KeeperConnection is a connection to the keeper. What a client publishes, reads or has joined is
// told by its connection: when that ends, the keeper takes it for ended.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "base/keeper/limits.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/unique_fd.hpp"

namespace aqua {

class KeeperConnection {
 public:
  static constexpr std::chrono::milliseconds kPatience{5000};

  // `path` of its socket. Empty: $AQUA_KEEPER, else keeper.sock in this user's own directory.
  //   unavailable         nobody listens there
  //   permission_denied   this user may not connect there, or who listens is neither this user nor
  //                       root
  [[nodiscard]] static Result<KeeperConnection> connect(const std::string& path);

  // Sends a packet, with descriptors beside it, and waits for the answer. After an error the
  // connection has ended.
  //   unavailable         the keeper is away or silent
  //   permission_denied   it is another user's, and serves that one and root
  [[nodiscard]] Result<Message> exchange(const std::string& text, std::span<const int> fds = {},
                                         std::chrono::milliseconds patience = kPatience);

  // Waits until the keeper signals `event`, of which it has answered with a copy. False: it has not
  // until the deadline. unavailable: it is away.
  [[nodiscard]] Result<bool> wait_for(int event,
                                      std::chrono::steady_clock::time_point deadline) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool connected() const noexcept { return fd_.valid(); }
  // To be polled, or shut down by another thread in order to end a call.
  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }

 private:
  KeeperConnection(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

// A packet's bytes as the text that they are.
[[nodiscard]] std::string_view text_of(const Message& packet);

}  // namespace aqua
