// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/links.hpp"

#include <algorithm>

namespace aqua::device {
namespace {

enum class Side : std::uint8_t { host, peer, own };

Side side_of(const std::byte* address, std::size_t bytes, const MappedRegions& regions) {
  if (regions.own.covers(address, bytes)) return Side::own;
  return regions.others.covers(address, bytes) ? Side::peer : Side::host;
}

}  // namespace

void add_crossing(Crossing& total, const CopySegment& s, const MappedRegions& regions) {
  const Side from = side_of(s.src, s.bytes, regions);
  const Side to = side_of(s.dst, s.bytes, regions);
  if (from != Side::own) total[from == Side::host ? 0 : 2] += s.bytes;
  if (to != Side::own) total[to == Side::host ? 1 : 3] += s.bytes;
}

Links::Time Links::take(const Crossing& bytes, Time now) {
  Time over = now;
  const MutexLock lock(mu_);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == 0 || rates_[i] == 0) continue;
    const std::chrono::duration<double> least(static_cast<double>(bytes[i]) /
                                              static_cast<double>(rates_[i]));
    free_[i] = std::max(now, free_[i]) + std::chrono::duration_cast<Time::duration>(least);
    over = std::max(over, free_[i]);
  }
  return over;
}

}  // namespace aqua::device
