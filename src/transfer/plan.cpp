// SPDX-License-Identifier: Apache-2.0
#include "transfer/plan.hpp"

#include <algorithm>
#include <cassert>

namespace aqua::transfer {
namespace {

using device::CopySegment;

// Walks the runs of the packed form in order, starting inside any one of them.
class RunCursor {
 public:
  explicit RunCursor(const PackedSlice& slice) : spec_(slice.layout.spec()), blocks_(slice.blocks) {
    const bool dense = spec_.segment_stride == spec_.segment_bytes;
    run_bytes_ = dense ? slice.layout.plane_block_bytes() : spec_.segment_bytes;
    runs_ = dense ? 1 : spec_.segments_per_block;
    const std::size_t run = slice.begin / run_bytes_;
    skip_ = slice.begin % run_bytes_;
    segment_ = run % runs_;
    entry_ = run / runs_ % blocks_.size();
    plane_ = run / runs_ / blocks_.size();
  }

  [[nodiscard]] std::size_t run_bytes() const { return run_bytes_; }
  [[nodiscard]] std::size_t bytes_left() const { return run_bytes_ - skip_; }
  [[nodiscard]] std::byte* address() const {
    return spec_.planes[plane_] + blocks_[entry_] * spec_.block_stride +
           segment_ * spec_.segment_stride + skip_;
  }
  // At the beginning of a plane, which may be an allocation of its own.
  [[nodiscard]] bool begins_plane() const { return entry_ == 0 && segment_ == 0 && skip_ == 0; }
  void next_run() {
    skip_ = 0;
    if (++segment_ < runs_) return;
    segment_ = 0;
    if (++entry_ < blocks_.size()) return;
    entry_ = 0;
    ++plane_;
  }

 private:
  const LayoutSpec& spec_;
  BlockList blocks_;
  std::size_t run_bytes_ = 0;
  std::size_t runs_ = 0;  // per block
  std::size_t plane_ = 0;
  std::size_t entry_ = 0;
  std::size_t segment_ = 0;
  std::size_t skip_ = 0;  // bytes of the current run that lie before the slice
};

// With `merge`, extends the last copy when the piece continues it on both sides.
void append(std::vector<CopySegment>& copies, CopySegment piece, std::size_t max_copy_bytes,
            bool merge) {
  if (merge && !copies.empty()) {
    CopySegment& last = copies.back();
    if (last.dst + last.bytes == piece.dst && last.src + last.bytes == piece.src) {
      const std::size_t more = std::min(piece.bytes, max_copy_bytes - last.bytes);
      last.bytes += more;
      piece.dst += more;
      piece.src += more;
      piece.bytes -= more;
    }
  }
  while (piece.bytes != 0) {
    const std::size_t bytes = std::min(piece.bytes, max_copy_bytes);
    copies.push_back({piece.dst, piece.src, bytes});
    piece.dst += bytes;
    piece.src += bytes;
    piece.bytes -= bytes;
  }
}

}  // namespace

std::vector<CopySegment> plan(const PackedSlice& slice, Direction direction,
                              std::size_t max_copy_bytes) {
  assert(max_copy_bytes != 0);
  std::vector<CopySegment> copies;
  if (slice.begin == slice.end) return copies;
  RunCursor cursor(slice);
  copies.reserve((slice.end - slice.begin) / cursor.run_bytes() + 2);
  std::byte* packed = slice.address;
  for (std::size_t left = slice.end - slice.begin; left != 0; cursor.next_run()) {
    const std::size_t bytes = std::min(cursor.bytes_left(), left);
    std::byte* cache = cursor.address();
    const bool offload = direction == Direction::offload;
    append(copies, {offload ? packed : cache, offload ? cache : packed, bytes}, max_copy_bytes,
           !cursor.begins_plane());
    packed += bytes;
    left -= bytes;
  }
  return copies;
}

Pieces pieces_of(const Layout& layout, BlockList blocks) {
  const LayoutSpec& spec = layout.spec();
  const std::size_t planes = spec.planes.size();
  Pieces pieces;
  if (spec.segment_stride != spec.segment_bytes && spec.segments_per_block > 1) {
    pieces.add(planes * blocks.size() * spec.segments_per_block, spec.segment_bytes);
    return pieces;
  }
  const bool dense = spec.block_stride == layout.plane_block_bytes();
  std::size_t run = 0;  // blocks
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool continues = dense && i != 0 && blocks[i] == std::size_t{blocks[i - 1]} + 1;
    if (!continues) pieces.add(run == 0 ? 0 : planes, run * layout.plane_block_bytes());
    run = continues ? run + 1 : 1;
  }
  pieces.add(run == 0 ? 0 : planes, run * layout.plane_block_bytes());
  return pieces;
}

std::vector<CopySegment> plan_bulk(std::byte* dst, const std::byte* src, std::size_t bytes,
                                   std::size_t max_copy_bytes) {
  std::vector<CopySegment> copies;
  append(copies, {dst, src, bytes}, max_copy_bytes, false);
  return copies;
}

}  // namespace aqua::transfer
