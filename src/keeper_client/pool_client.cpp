// SPDX-License-Identifier: Apache-2.0
#include "keeper_client/pool_client.hpp"

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {

Result<PoolClient> PoolClient::connect(const std::string& path) {
  AQUA_ASSIGN(auto connection, KeeperConnection::connect(path));
  return PoolClient(std::move(connection));
}

Result<PoolClient::Answer> PoolClient::call(const pool_wire::PoolRequest& request,
                                            std::span<const int> fds,
                                            std::chrono::milliseconds patience) {
  AQUA_ASSIGN(Message message, connection_.exchange(pool_wire::encode(request), fds, patience));
  AQUA_ASSIGN(pool_wire::PoolReply reply, pool_wire::decode_pool_reply(text_of(message)));
  return Answer{std::move(reply), std::move(message.fds)};
}

Result<UniqueFd> PoolClient::join_segments(const std::string& pool, const std::string& role,
                                           const std::optional<ParcelBook::Courier>& courier) {
  AQUA_ASSIGN(Answer joined, call(pool_wire::JoinPool{.pool = pool,
                                                      .role = role,
                                                      .device = {},
                                                      .shape = "segments",
                                                      .blocks = 0,
                                                      .block_tokens = 1,
                                                      .bytes = 0,
                                                      .courier = courier}));
  if (joined.reply.later) {
    return Error{Code::failed_precondition, concat("a pool '", pool, "' is being made")};
  }
  if (joined.fds.size() == 1) return std::move(joined.fds.front());
  return Error{Code::invalid_argument, "the keeper's answer has no event"};
}

}  // namespace aqua
