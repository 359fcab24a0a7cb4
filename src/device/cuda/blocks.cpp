// SPDX-License-Identifier: Apache-2.0
// CudaDevice's copies by the numbers of blocks: planes and ids go up once, kernels compute the
// addresses.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/try.hpp"
#include "device/cuda/device_impl.hpp"
#include "device/cuda/error.hpp"
#include "device/cuda/reach.hpp"
#include "device/pieces.hpp"
#include "kernels/copy.hpp"

namespace aqua::device {
namespace {

class CudaTable final : public BlockTable {
 public:
  using BlockTable::BlockTable;
  ~CudaTable() override {
    if (slot) ring->release(*slot);
  }
  UploadRing* ring = nullptr;
  std::optional<UploadRing::Slot> slot{};  // none: its copies go by lists
  kernels::Blocks named{};                 // as the device reads them
  std::optional<CUstream> stream{};        // which waits for the upload
};

// Planes and ids one after the other, planes first since they want more alignment.
class Writer {
 public:
  explicit Writer(const UploadRing::Slot& slot) : slot_(slot) {}
  template <typename T>
  [[nodiscard]] const T* write(const std::vector<T>& entries) {
    if (entries.empty()) return nullptr;
    const std::size_t bytes = entries.size() * sizeof(T);
    std::memcpy(slot_.host + at_, entries.data(), bytes);
    return reinterpret_cast<const T*>(slot_.device + std::exchange(at_, at_ + bytes));
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return at_; }

 private:
  const UploadRing::Slot& slot_;
  std::size_t at_ = 0;
};

template <typename T>
std::size_t bytes_of(const std::vector<T>& entries) {
  return entries.size() * sizeof(T);
}

// What the blocks of one side may touch, as copies onto themselves.
void add_extents(const BlockCopy& blocks, const BlockEnd& end, std::vector<CopySegment>& extents) {
  if (end.planes.empty()) return;
  const auto [first, last] = extent_of(blocks, end);
  for (std::byte* const plane : end.planes) {
    extents.push_back({plane + first, plane + first, last - first});
  }
}

}  // namespace

Result<std::unique_ptr<BlockTable>> CudaDevice::prepare_blocks(BlockBatch blocks) {
  AQUA_TRY(check_blocks(blocks));
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  auto made = std::make_unique<CudaTable>(std::move(blocks));
  CudaTable& table = *made;
  std::unique_ptr<BlockTable> result = std::move(made);
  const BlockCopy& copy = *table.blocks();
  std::vector<CopySegment> extents;
  add_extents(copy, copy.dst, extents);
  add_extents(copy, copy.src, extents);
  if (!kernels_.load()) return result;
  if (!CudaReach(driver(), *reachable_).covers(extents)) {
    tally_.passed_over(Fallback::unreachable);
    return result;
  }
  table.ring = parts_.uploads.get();
  table.slot = table.ring->take(bytes_of(copy.dst.planes) + bytes_of(copy.src.planes) +
                                bytes_of(copy.dst.ids) + bytes_of(copy.src.ids));
  if (!table.slot) {
    tally_.passed_over(Fallback::full);
    return result;
  }
  Writer writer(*table.slot);
  table.named = blocks_of(copy);
  table.named.dst.planes = writer.write(copy.dst.planes);
  table.named.src.planes = writer.write(copy.src.planes);
  table.named.dst.ids = writer.write(copy.dst.ids);
  table.named.src.ids = writer.write(copy.src.ids);
  AQUA_ASSIGN(const bool up,
              queued(table.ring->upload(*table.slot, writer.bytes()), "the upload of its blocks"));
  if (!up) table.ring->release(*std::exchange(table.slot, std::nullopt));
  return result;
}

Result<void> CudaDevice::copy_blocks(BlockTable& table, const PieceRange& pieces, Stream stream,
                                     const CopyOptions& options) {
  AQUA_TRY(check_pieces(*table.blocks(), pieces));
  AQUA_ASSIGN(const auto scope, parts_.context->enter());
  if (options.cancel && options.cancel->load()) return {};
  auto* const cuda = dynamic_cast<CudaTable*>(&table);
  if (cuda != nullptr && cuda->slot && takes_blocks(options.method, stream) &&
      writes_freely(*cuda, pieces) && reaches_line(*cuda, pieces)) {
    if (!cuda->stream) {
      AQUA_TRY(check(driver(), cuda->ring->await(*cuda->slot, native(stream)), "copy",
                     "cuStreamWaitEvent"));
      cuda->stream = native(stream);
    }
    if (*cuda->stream == native(stream)) {
      const int launched = kernels::copy_blocks({.blocks = cuda->named,
                                                 .first = pieces.first,
                                                 .count = pieces.count,
                                                 .line = pieces.line,
                                                 .max_sms = sms_for(options)},
                                                native(stream));
      cuda->ring->used(*cuda->slot, native(stream));
      AQUA_ASSIGN(const bool posted, queued(static_cast<CUresult>(launched), "copy_blocks"));
      if (posted) {
        tally_.ran(CopyMethod::kernel);
        return {};
      }
    }
  }
  return Device::copy_blocks(table, pieces, stream, options);
}

bool CudaDevice::writes_freely(const BlockTable& table, const PieceRange& pieces) const {
  if (read_only_->empty()) return true;
  const BlockCopy& copy = *table.blocks();
  if (copy.dst.planes.empty())
    return !read_only_->touches(pieces.line, pieces.count * copy.piece_bytes);
  const auto [first, last] = extent_of(copy, copy.dst);
  return std::ranges::none_of(copy.dst.planes, [&, first = first, last = last](std::byte* plane) {
    return read_only_->touches(plane + first, last - first);
  });
}

bool CudaDevice::reaches_line(const BlockTable& table, const PieceRange& pieces) const {
  const BlockCopy& copy = *table.blocks();
  if (!copy.dst.planes.empty() && !copy.src.planes.empty()) return true;
  const CopySegment line{pieces.line, pieces.line, pieces.count * copy.piece_bytes};
  return CudaReach(driver(), *reachable_).covers({&line, 1});
}

}  // namespace aqua::device
