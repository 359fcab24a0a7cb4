// SPDX-License-Identifier: Apache-2.0
// Crowds that want more than memory holds, for tests of how long anybody waits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "aqua/schedule/options.hpp"

namespace aqua::schedule::test {

inline std::uint64_t up(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

// What the bound of docs/engine/scheduling.md, "How long anybody waits", is made of.
struct Load {
  SchedulerOptions options;
  std::uint32_t longest_prompt = 1;
  std::uint32_t longest_output = 1;
  bool tell_output = true;  // to the scheduler, as max_new_tokens

  // m: the most blocks promised to one. The last token of an answer is never computed; where nobody
  // knows which is the last, the one before it has a whole slice ahead of it.
  [[nodiscard]] std::uint64_t m() const {
    const std::uint64_t ahead = tell_output
                                    ? longest_output - 1
                                    : std::max(longest_output, 2U) - 2 + options.slice_iterations;
    return std::min<std::uint64_t>(up(longest_prompt + ahead, options.block_tokens),
                                   options.device_blocks);
  }
  [[nodiscard]] std::uint64_t k() const {
    const std::uint32_t decodes = options.budget_tokens - options.min_prefill_tokens;
    return std::min<std::uint64_t>(options.device_blocks / m(), decodes);
  }
  // g, of which memory has places; and of which a slice has tokens for prompts.
  [[nodiscard]] std::uint64_t g_of_memory() const {
    return std::max<std::uint64_t>(1, (k() + 2) / 4);
  }
  [[nodiscard]] std::uint64_t g_of_tokens() const {
    const std::uint64_t tokens = options.slice_iterations * options.min_prefill_tokens;
    return up(tokens, 2 * std::uint64_t{longest_prompt});
  }
  // Iterations between two services, at most, where there are N.
  [[nodiscard]] std::uint64_t bound(std::uint64_t there, std::uint64_t g) const {
    const std::uint64_t c = k() == 1 ? 2 : 1;
    return options.slice_iterations * (2 * up(there, k()) + c * up(there, g) + 2);
  }
  [[nodiscard]] std::uint64_t bound(std::uint64_t there) const {
    return bound(there, std::min(g_of_memory(), g_of_tokens()));
  }
  [[nodiscard]] std::uint64_t bound_of_auto(std::uint64_t there) const {
    const std::uint64_t each = up(longest_prompt, options.min_prefill_tokens);
    return options.slice_iterations * (9 * up(there, k()) + 1) + there * each;
  }
};

struct Ask {
  std::uint32_t prompt = 1;
  std::uint32_t output = 1;
  double weight = 1;
};

// A closed population: a sequence on each seat, and whoever ends is followed at once by the next.
// Calm and storm take turns. Between them the last seats, the restless, are cleared: their requests
// are aborted and followed by others.
struct Crowd {
  std::string name;
  Load load;
  std::size_t seats = 0;
  std::size_t restless = 0;
  std::function<Ask(std::size_t seat, bool storm, std::mt19937_64& random)> ask;

  [[nodiscard]] std::uint64_t bound() const { return load.bound(seats); }
};

// Four places of 40 blocks, as most crowds have.
[[nodiscard]] SchedulerOptions crowded_options();
// Crowds of all sizes, with and without weights and known lengths, and in storms.
[[nodiscard]] std::vector<Crowd> crowds();
// Prompts so long that a slice has tokens for one of them, where memory has places for fourteen. In
// a storm short ones go before everybody's rank.
[[nodiscard]] Crowd long_prompts(bool weights);

}  // namespace aqua::schedule::test
