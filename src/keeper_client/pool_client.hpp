// SPDX-License-Identifier: Apache-2.0
// PoolClient asks a keeper about KV pools. A connection that has joined one is a member of it.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "base/keeper/connection.hpp"
#include "base/unique_fd.hpp"
#include "parcel/pool_wire.hpp"

namespace aqua {

class PoolClient {
 public:
  // As KeeperConnection::connect().
  [[nodiscard]] static Result<PoolClient> connect(const std::string& path);

  struct Answer {
    pool_wire::PoolReply reply;
    std::vector<UniqueFd> fds;
  };
  // Asks, with descriptors beside it, and waits for the answer. The keeper's own refusal, or
  // unavailable when it is away or silent: the connection has ended then.
  [[nodiscard]] Result<Answer> call(
      const pool_wire::PoolRequest& request, std::span<const int> fds = {},
      std::chrono::milliseconds patience = KeeperConnection::kPatience);

  // Joins a pool without blocks, whose parcels have segments, in a role. Answers the event that is
  // written when there is something for the member. `courier`: as pool_wire::JoinPool's.
  // failed_precondition: a KV pool has the name.
  [[nodiscard]] Result<UniqueFd> join_segments(
      const std::string& pool, const std::string& role,
      const std::optional<ParcelBook::Courier>& courier = {});

  // As KeeperConnection's.
  [[nodiscard]] Result<bool> wait_for(int event,
                                      std::chrono::steady_clock::time_point deadline) const {
    return connection_.wait_for(event, deadline);
  }
  [[nodiscard]] bool connected() const noexcept { return connection_.connected(); }
  [[nodiscard]] int descriptor() const noexcept { return connection_.descriptor(); }

 private:
  explicit PoolClient(KeeperConnection connection) : connection_(std::move(connection)) {}

  KeeperConnection connection_;
};

}  // namespace aqua
