// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/copy_cuts.hpp"

#include <algorithm>
#include <iterator>

namespace aqua::device {
namespace {

// Finds cuts on one side of a batch. Neighbours in a batch mostly lie between the same two cuts,
// so these are kept.
class Side {
 public:
  explicit Side(std::span<const std::uintptr_t> cuts) : cuts_(cuts) {}

  // How many of `bytes`, at least one, lie before the first cut inside them.
  [[nodiscard]] std::size_t until_cut(const std::byte* address, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    if (begin < first_ || begin > last_) {
      const auto next = std::upper_bound(cuts_.begin(), cuts_.end(), begin);
      first_ = next == cuts_.begin() ? 0 : *std::prev(next);
      last_ = next == cuts_.end() ? UINTPTR_MAX : *next - 1;
    }
    return bytes - 1 > last_ - begin ? last_ - begin + 1 : bytes;
  }

 private:
  std::span<const std::uintptr_t> cuts_;
  std::uintptr_t first_ = 1;  // no cut lies in (first_, last_]; at the beginning empty
  std::uintptr_t last_ = 0;
};

}  // namespace

std::span<const CopySegment> cut_segments(std::span<const CopySegment> batch,
                                          std::span<const std::uintptr_t> cuts,
                                          std::vector<CopySegment>& room) {
  Side dst(cuts);
  Side src(cuts);
  const auto before_cut = [&](const CopySegment& s) {
    return std::min(dst.until_cut(s.dst, s.bytes), src.until_cut(s.src, s.bytes));
  };
  const auto first = std::ranges::find_if(
      batch, [&](const CopySegment& s) { return s.bytes == 0 || before_cut(s) != s.bytes; });
  if (first == batch.end()) return batch;
  room.assign(batch.begin(), first);
  for (CopySegment rest : std::span(first, batch.end())) {
    while (rest.bytes > 0) {
      const std::size_t piece = before_cut(rest);
      room.push_back({rest.dst, rest.src, piece});
      rest.dst += piece;
      rest.src += piece;
      rest.bytes -= piece;
    }
  }
  return room;
}

}  // namespace aqua::device
