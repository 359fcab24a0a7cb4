// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/act/keeper_client.hpp"

#include <algorithm>
#include <utility>

#include "base/try.hpp"

namespace aqua::sharing {
namespace {

constexpr std::chrono::hours kLongest{24 * 365};

}  // namespace

std::chrono::steady_clock::time_point KeeperClient::deadline_after(
    std::chrono::milliseconds patience) {
  return std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(patience, kLongest);
}

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
