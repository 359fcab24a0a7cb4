// SPDX-License-Identifier: Apache-2.0
#include "keeper_client/segment_client.hpp"

#include <algorithm>
#include <iterator>

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

Result<std::vector<SegmentStatus>> SegmentClient::list(std::chrono::milliseconds patience) {
  std::vector<SegmentStatus> rows;
  for (bool more = true; more;) {
    const std::uint64_t first = rows.empty() ? 0 : rows.back().name.number + 1;
    AQUA_ASSIGN(auto answer, call(segment_wire::List{first}, patience));
    auto& part = answer.reply.rows;
    more = answer.reply.more && !part.empty();
    std::move(part.begin(), part.end(), std::back_inserter(rows));
  }
  return rows;
}

}  // namespace aqua
