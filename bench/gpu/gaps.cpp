// SPDX-License-Identifier: Apache-2.0
#include "gpu/gaps.hpp"

#include <algorithm>
#include <utility>

namespace aqua::bench {

std::vector<Gap> gaps(std::span<const std::span<std::byte>> areas,
                      std::span<const kernels::Segment> segments) {
  std::vector<std::pair<const std::byte*, std::uint64_t>> written;
  for (const kernels::Segment& segment : segments) written.emplace_back(segment.dst, segment.bytes);
  std::ranges::sort(written);
  std::vector<Gap> all;
  for (const auto area : areas) {
    std::uint64_t from = 0;
    const auto add = [&](std::uint64_t until) {
      for (; from < until; from += std::min(kMostGap, until - from))
        all.push_back({area.data(), from, std::min(kMostGap, until - from)});
    };
    for (const auto& [dst, bytes] : written) {
      if (dst < area.data() || dst >= area.data() + area.size()) continue;
      const auto begin = static_cast<std::uint64_t>(dst - area.data());
      add(begin);
      from = std::max(from, begin + bytes);
    }
    add(area.size());
  }
  return all;
}

}  // namespace aqua::bench
