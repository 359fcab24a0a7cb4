// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/copy_runs.hpp"

#include <algorithm>

namespace aqua::device {
namespace {

// How many of `bytes` lie before the first cut inside them.
std::size_t until_cut(const std::byte* address, std::size_t bytes,
                      std::span<const std::uintptr_t> cuts) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const auto next = std::upper_bound(cuts.begin(), cuts.end(), begin);
  return next == cuts.end() ? bytes : std::min<std::size_t>(bytes, *next - begin);
}

void append_cut(CopySegment run, std::span<const std::uintptr_t> cuts,
                std::vector<CopySegment>& runs) {
  while (run.bytes > 0) {
    const std::size_t piece = cuts.empty() ? run.bytes
                                           : std::min(until_cut(run.dst, run.bytes, cuts),
                                                      until_cut(run.src, run.bytes, cuts));
    runs.push_back({run.dst, run.src, piece});
    run.dst += piece;
    run.src += piece;
    run.bytes -= piece;
  }
}

}  // namespace

void make_runs(std::span<const CopySegment> batch, std::span<const std::uintptr_t> cuts, bool merge,
               std::vector<CopySegment>& runs) {
  runs.clear();
  CopySegment run;
  for (const CopySegment& segment : batch) {
    if (segment.bytes == 0) continue;
    const bool follows =
        merge && segment.dst == run.dst + run.bytes && segment.src == run.src + run.bytes;
    if (follows && run.bytes > 0) {
      run.bytes += segment.bytes;
      continue;
    }
    append_cut(run, cuts, runs);
    run = segment;
  }
  append_cut(run, cuts, runs);
}

std::uint64_t total_bytes(std::span<const CopySegment> runs) noexcept {
  std::uint64_t total = 0;
  for (const CopySegment& run : runs) total += run.bytes;
  return total;
}

}  // namespace aqua::device
