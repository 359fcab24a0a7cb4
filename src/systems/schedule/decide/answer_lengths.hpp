// SPDX-License-Identifier: Apache-2.0
// AnswerLengths is what was seen of how long answers are, by powers of two.
//
// Threads: not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace aqua::schedule {

class AnswerLengths {
 public:
  void ended(std::uint32_t tokens) noexcept {
    if (tokens == 0) return;
    Seen& seen = seen_[power(tokens)];
    seen.answers += 1;
    seen.tokens += tokens;
  }
  // Estimates for how many tokens an answer that has so many goes on: the mean of those seen that
  // were as long, less what it has; `unseen` while there is none. At least 1.
  [[nodiscard]] double remaining(std::uint32_t tokens, double unseen) const noexcept {
    Seen longer;
    for (std::size_t i = power(std::max(tokens, 1U)); i < seen_.size(); ++i) {
      longer.answers += seen_[i].answers;
      longer.tokens += seen_[i].tokens;
    }
    if (longer.answers == 0) return std::max(unseen, 1.0);
    return std::max(longer.tokens / longer.answers - tokens, 1.0);
  }

 private:
  struct Seen {
    double answers = 0, tokens = 0;
  };
  static std::size_t power(std::uint32_t tokens) noexcept {
    return static_cast<std::size_t>(std::bit_width(tokens)) - 1;
  }
  std::array<Seen, 32> seen_{};
};

}  // namespace aqua::schedule
