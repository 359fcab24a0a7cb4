// SPDX-License-Identifier: Apache-2.0
#include "keeper_client/segment_client.hpp"

#include "base/try.hpp"

namespace aqua {

Result<SegmentClient> SegmentClient::connect(const std::string& path) {
  AQUA_ASSIGN(auto connection, KeeperConnection::connect(path));
  return SegmentClient(std::move(connection));
}

Result<SegmentClient::Answer> SegmentClient::call(const segment_wire::Request& request,
                                                  std::chrono::milliseconds patience) {
  AQUA_ASSIGN(Message message, connection_.exchange(segment_wire::encode(request), {}, patience));
  AQUA_ASSIGN(segment_wire::Reply reply, segment_wire::decode_reply(text_of(message)));
  return Answer{std::move(reply), std::move(message.fds)};
}

}  // namespace aqua
