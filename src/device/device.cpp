// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

#include <utility>

#include "base/try.hpp"
#include "device/pieces.hpp"
#include "device/work_checks.hpp"

namespace aqua::device {

Result<void> Device::check_stream(Stream stream) const {
  if (!capturing(stream)) return {};
  return Error{Code::failed_precondition, "the stream is being captured into a graph"};
}

Result<std::unique_ptr<BlockTable>> Device::prepare_blocks(BlockBatch blocks) {
  AQUA_TRY(check_blocks(blocks));
  return std::make_unique<BlockTable>(std::move(blocks));
}

Result<void> Device::copy_blocks(BlockTable& table, const PieceRange& pieces, Stream stream,
                                 const CopyOptions& options) {
  AQUA_TRY(check_pieces(*table.blocks(), pieces));
  std::vector<CopySegment> list;
  list.reserve(pieces.count);
  each_piece(*table.blocks(), pieces, [&](const CopySegment& piece) { list.push_back(piece); });
  return copy(std::make_shared<const std::vector<CopySegment>>(std::move(list)), stream, options);
}

}  // namespace aqua::device
