// SPDX-License-Identifier: Apache-2.0
// SegmentClient asks a keeper about segments. A connection that has joined is a member.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "base/keeper/connection.hpp"
#include "base/unique_fd.hpp"
#include "parcel/segment_wire.hpp"

namespace aqua {

class SegmentClient {
 public:
  // As KeeperConnection::connect().
  [[nodiscard]] static Result<SegmentClient> connect(const std::string& path);

  struct Answer {
    segment_wire::Reply reply;
    std::vector<UniqueFd> fds;
  };
  // Asks, and waits for the answer. The keeper's own refusal, or unavailable when it is away or
  // silent: the connection has ended then.
  [[nodiscard]] Result<Answer> call(
      const segment_wire::Request& request,
      std::chrono::milliseconds patience = KeeperConnection::kPatience);

  // As KeeperConnection's.
  [[nodiscard]] Result<bool> wait_for(int event,
                                      std::chrono::steady_clock::time_point deadline) const {
    return connection_.wait_for(event, deadline);
  }

  // All that is kept, by number.
  [[nodiscard]] Result<std::vector<SegmentStatus>> list(
      std::chrono::milliseconds patience = KeeperConnection::kPatience);

  [[nodiscard]] bool connected() const noexcept { return connection_.connected(); }
  // As KeeperConnection's.
  [[nodiscard]] int descriptor() const noexcept { return connection_.descriptor(); }

 private:
  explicit SegmentClient(KeeperConnection connection) : connection_(std::move(connection)) {}

  KeeperConnection connection_;
};

}  // namespace aqua
