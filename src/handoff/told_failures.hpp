// SPDX-License-Identifier: Apache-2.0
// ToldFailures knows which failures of streams' work (StreamMark::latest_failure()) an engine has
// been told of. A stream's failure is reported once by the device, to whichever mark or ticket asks
// first, and nobody knows which bytes it was about. So what is behind a failure on its stream fails
// by it, whoever else has heard of it, if it was posted before the engine was told.
//
// Threads: none of its own. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace aqua {

class ToldFailures {
 public:
  using Numbers = std::vector<std::uint64_t>;

  // What is posted now is posted after all that was told so far.
  [[nodiscard]] std::uint64_t now() const { return now_; }
  // Whether work that was posted then fails by this failure. 0 is none.
  [[nodiscard]] bool concerns(std::uint64_t failure, std::uint64_t posted) const {
    if (failure == 0) return false;
    const auto told = told_.find(failure);
    return told == told_.end() || told->second > posted;
  }
  // The engine is told of these now.
  void tell(const Numbers& failures) {
    if (failures.empty()) return;
    ++now_;
    for (const std::uint64_t failure : failures) told_.emplace(failure, now_);
    // One that is forgotten is told again, if its stream is still used.
    while (told_.size() > kMost) told_.erase(told_.begin());
  }

 private:
  static constexpr std::size_t kMost = 1024;

  std::map<std::uint64_t, std::uint64_t> told_;  // when, by number
  std::uint64_t now_ = 0;
};

}  // namespace aqua
