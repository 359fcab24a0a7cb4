// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/copy_choice.hpp"

namespace aqua::device {

// A command to a copy engine costs about half a microsecond of this thread, so a few go each by
// itself. From 64 KiB a run the engines keep up with any link when they get all runs in one
// command; below that a kernel does better (H100, host to device, 24 KiB: 6.7 GB/s batched,
// about 50 by a kernel). Without a kernel the batch is still the better half.
CopyMethod choose_method(const CopyFacts& facts) noexcept {
  constexpr std::size_t kFew = 8;
  constexpr std::uint64_t kLarge = 64U << 10U;
  if (facts.runs <= kFew) return CopyMethod::each;
  const bool large = facts.bytes / facts.runs >= kLarge;
  if (large && facts.batched) return CopyMethod::batched;
  if (!large && facts.kernel) return CopyMethod::kernel;
  return facts.batched ? CopyMethod::batched : CopyMethod::each;
}

}  // namespace aqua::device
