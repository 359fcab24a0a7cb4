// SPDX-License-Identifier: Apache-2.0
// BatchSearch: the batch size at which the throughput of an image or audio model saturates (Aqua,
// section 4): 1, 2, 4 … until doubling gains less than a tenth. Partial answers are of no use
// there, so a larger batch would only take memory.
//
// Threads: not thread-safe. Pure: the same figures give the same questions.
#pragma once

#include <cstddef>
#include <optional>

namespace aqua::profiler {

class BatchSearch {
 public:
  static constexpr double kLeastGain = 0.1;

  explicit BatchSearch(std::size_t most) : most_(most) {}

  [[nodiscard]] std::optional<std::size_t> next() const {
    if (over_ || next_ > most_) return std::nullopt;
    return next_;
  }
  // Notes the throughput of the batch that next() names, in items a second.
  void told(double throughput) {
    over_ = best_ > 0 && throughput < (1 + kLeastGain) * throughput_;
    if (over_) return;
    best_ = next_;
    throughput_ = throughput;
    next_ *= 2;
  }

  [[nodiscard]] std::size_t best() const noexcept { return best_; }  // 0: none was tried
  [[nodiscard]] double throughput() const noexcept { return throughput_; }
  [[nodiscard]] bool saturated() const noexcept { return over_; }

 private:
  std::size_t most_;
  std::size_t next_ = 1;
  std::size_t best_ = 0;
  double throughput_ = 0;
  bool over_ = false;
};

}  // namespace aqua::profiler
