// SPDX-License-Identifier: Apache-2.0
// What operators ask of a keeper's segments.
#include "aqua/handoff/segments.hpp"
#include "base/try.hpp"
#include "keeper_client/segment_client.hpp"

namespace aqua {

Result<std::vector<SegmentStatus>> list_segments(const std::string& keeper) {
  AQUA_ASSIGN(SegmentClient client, SegmentClient::connect(keeper));
  return client.list();
}

Result<SegmentDisk> segment_disk(const std::string& keeper) {
  AQUA_ASSIGN(SegmentClient client, SegmentClient::connect(keeper));
  AQUA_ASSIGN(auto answer, client.call(segment_wire::Disk{}));
  if (answer.reply.disk) return *std::move(answer.reply.disk);
  return Error{Code::invalid_argument, "keeper: an answer that says nothing of a disk"};
}

Result<void> drop_segment(std::uint64_t number, std::uint64_t generation,
                          const std::string& keeper) {
  AQUA_ASSIGN(SegmentClient client, SegmentClient::connect(keeper));
  AQUA_TRY(client.call(segment_wire::Drop{number, generation}));
  return {};
}

}  // namespace aqua
