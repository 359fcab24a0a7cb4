// SPDX-License-Identifier: Apache-2.0
// KeeperClient asks a keeper about published models.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "base/keeper/connection.hpp"
#include "base/unique_fd.hpp"
#include "systems/sharing/decide/keeper_wire.hpp"

namespace aqua::sharing {

class KeeperClient {
 public:
  // As KeeperConnection::connect().
  [[nodiscard]] static Result<KeeperClient> connect(const std::string& path);

  struct Answer {
    wire::Reply reply;
    std::vector<UniqueFd> fds;
  };
  // Asks, with descriptors beside it, and waits for the answer. The keeper's own refusal, or
  // unavailable when it is away or silent: the connection has ended then.
  [[nodiscard]] Result<Answer> call(const wire::Request& request, std::span<const int> fds = {});

  // As KeeperConnection's.
  [[nodiscard]] Result<bool> wait_for(int event,
                                      std::chrono::steady_clock::time_point deadline) const {
    return connection_.wait_for(event, deadline);
  }
  [[nodiscard]] const std::string& path() const noexcept { return connection_.path(); }

 private:
  explicit KeeperClient(KeeperConnection connection) : connection_(std::move(connection)) {}

  KeeperConnection connection_;
};

}  // namespace aqua::sharing
