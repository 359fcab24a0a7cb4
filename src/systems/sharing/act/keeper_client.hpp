// SPDX-License-Identifier: Apache-2.0
// KeeperClient is a connection to the keeper. What a client publishes or reads is told by its
// connection: when that ends, the keeper takes both for ended.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/unique_fd.hpp"
#include "systems/sharing/decide/keeper_wire.hpp"
#include "systems/sharing/decide/pool/pool_wire.hpp"

namespace aqua::sharing {

class KeeperClient {
 public:
  static constexpr std::chrono::milliseconds kPatience{5000};

  // `path` of its socket. Empty: $AQUA_KEEPER, else keeper.sock in this user's own directory.
  //   unavailable         nobody listens there
  //   permission_denied   who listens is neither this user nor root
  [[nodiscard]] static Result<KeeperClient> connect(const std::string& path);

  template <typename Reply>
  struct AnswerOf {
    Reply reply;
    std::vector<UniqueFd> fds;
  };
  using Answer = AnswerOf<wire::Reply>;
  using PoolAnswer = AnswerOf<wire::PoolReply>;
  // Asks, with descriptors beside it, and waits for the answer. The keeper's own refusal, or
  // unavailable when it is away or silent: the connection has ended then.
  [[nodiscard]] Result<Answer> call(const wire::Request& request, std::span<const int> fds = {});
  [[nodiscard]] Result<PoolAnswer> call(const wire::PoolRequest& request,
                                        std::span<const int> fds = {},
                                        std::chrono::milliseconds patience = kPatience);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool connected() const noexcept { return fd_.valid(); }
  // To be polled, or shut down by another thread in order to end a call.
  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }

 private:
  [[nodiscard]] Result<Message> exchange(const std::string& text, std::span<const int> fds,
                                         std::chrono::milliseconds patience);
  KeeperClient(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

}  // namespace aqua::sharing
