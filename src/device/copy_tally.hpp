// SPDX-License-Identifier: Apache-2.0
// Counts what really ran of a device's copies: CopyCounts as they come about.
//
// Threads: any. Each count costs one relaxed atomic addition.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/device.hpp"

namespace aqua::device {

// Why a way that was asked for is passed over, as CopyCounts has it.
enum class Fallback : std::uint8_t { unsupported, unreachable, full, refused };

class CopyTally {
 public:
  // Some of a batch went this way.
  void ran(CopyMethod method) noexcept { add(ran_[static_cast<std::size_t>(method)]); }
  void passed_over(Fallback why) noexcept { add(passed_over_[static_cast<std::size_t>(why)]); }

  [[nodiscard]] CopyCounts counts() const noexcept {
    const auto ran = [&](CopyMethod method) {
      return ran_[static_cast<std::size_t>(method)].load(std::memory_order_relaxed);
    };
    const auto passed_over = [&](Fallback why) {
      return passed_over_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
    };
    CopyCounts counts;
    counts.kernel = ran(CopyMethod::kernel);
    counts.batched = ran(CopyMethod::batched);
    counts.each = ran(CopyMethod::each);
    counts.unsupported = passed_over(Fallback::unsupported);
    counts.unreachable = passed_over(Fallback::unreachable);
    counts.full = passed_over(Fallback::full);
    counts.refused = passed_over(Fallback::refused);
    return counts;
  }

 private:
  using Count = std::atomic<std::uint64_t>;
  static void add(Count& count) noexcept { count.fetch_add(1, std::memory_order_relaxed); }

  std::array<Count, 3> ran_{};          // in the order of CopyMethod
  std::array<Count, 4> passed_over_{};  // in the order of Fallback
};

}  // namespace aqua::device
