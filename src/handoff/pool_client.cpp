// SPDX-License-Identifier: Apache-2.0
#include "handoff/pool_client.hpp"

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

}  // namespace aqua
