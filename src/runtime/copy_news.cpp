// SPDX-License-Identifier: Apache-2.0
#include "runtime/copy_news.hpp"

#include <array>

#include "base/concat.hpp"

namespace aqua::runtime {
namespace {

// In the order of the bits that reasons() gives. What a stream or a driver does not have is no
// news: the planner knows it before it chooses.
constexpr std::array<const char*, 4> kReasons{
    "some memory is not known to be in the GPU's reach",
    "there was no room left for lists of kernels, or too many commands were in flight",
    "the driver refused a launch or a command for many blocks",
    "commands for many blocks hang in this driver, so none is used any more",
};

}  // namespace

unsigned CopyNews::reasons(const device::CopyCounts& now) const noexcept {
  if (info_.kind != device::Kind::cuda) return 0;
  const std::array<bool, kReasons.size()> holds{now.unreachable > 0, now.full > 0, now.refused > 0,
                                                now.batches_hang};
  unsigned bits = 0;
  for (std::size_t i = 0; i < holds.size(); ++i) bits |= holds[i] ? 1U << i : 0;
  return bits;
}

bool CopyNews::any(const device::CopyCounts& now) const noexcept {
  return (reasons(now) & ~told_.load()) != 0;
}

std::vector<std::string> CopyNews::take(const device::CopyCounts& now) {
  const unsigned all = reasons(now);
  const unsigned fresh = all & ~told_.fetch_or(all);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    if ((fresh & 1U << i) == 0) continue;
    lines.push_back(concat(info_.name, ": copies go slower than planned: ", kReasons[i],
                           " (RuntimeStatus::copies counts them)"));
  }
  return lines;
}

}  // namespace aqua::runtime
