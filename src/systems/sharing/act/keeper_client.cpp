// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/act/keeper_client.hpp"

#include <utility>

#include "base/try.hpp"

namespace aqua::sharing {

Result<KeeperClient> KeeperClient::connect(const std::string& path) {
  AQUA_ASSIGN(auto connection, KeeperConnection::connect(path));
  return KeeperClient(std::move(connection));
}

Result<KeeperClient::Answer> KeeperClient::call(const wire::Request& request,
                                                std::span<const int> fds) {
  AQUA_ASSIGN(Message message, connection_.exchange(wire::encode(request), fds));
  AQUA_ASSIGN(wire::Reply reply, wire::decode_reply(text_of(message)));
  return Answer{std::move(reply), std::move(message.fds)};
}

}  // namespace aqua::sharing
