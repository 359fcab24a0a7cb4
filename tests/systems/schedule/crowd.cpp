// SPDX-License-Identifier: Apache-2.0
#include "tests/systems/schedule/crowd.hpp"

#include <utility>

namespace aqua::schedule::test {

SchedulerOptions crowded_options() {
  return {.budget_tokens = 64,
          .slice_iterations = 8,
          .min_prefill_tokens = 16,
          .block_tokens = 4,
          .device_blocks = 160};
}

namespace {

// Prompts and answers of any length up to the load's.
Crowd of_all_sizes(std::string name, const Load& load, bool weights, std::uint32_t least_prompt) {
  const auto ask = [=](std::size_t, bool, std::mt19937_64& random) -> Ask {
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    return {least_prompt + below(load.longest_prompt - least_prompt + 1),
            1 + below(load.longest_output), weights ? 0.25 * (1 + below(16)) : 1};
  };
  return {std::move(name) + (weights ? ", weights" : ""), load, 24, 0, ask};
}

// Long answers in k places, of one size: a block each. In a storm newcomers, who end within the
// slice and come again, and some of great weight go before everybody's rank.
Crowd stormy(std::uint32_t k, bool tell_output) {
  const Load load = {.options = {.budget_tokens = 64,
                                 .slice_iterations = 4,
                                 .min_prefill_tokens = 16,
                                 .block_tokens = 8192,
                                 .device_blocks = k},
                     .longest_prompt = 8,
                     .longest_output = 4000,
                     .tell_output = tell_output};
  const std::size_t seats = 24;
  const std::size_t restless = 2 * std::size_t{k};
  const auto ask = [=](std::size_t seat, bool storm, std::mt19937_64&) -> Ask {
    if (!storm || seat < seats - restless) return {8, 4000, 1};
    return seat % 2 == 0 ? Ask{8, 4, 1} : Ask{8, 4000, 1000};
  };
  return {"storms, k = " + std::to_string(k) + (tell_output ? "" : ", lengths unknown"), load,
          seats, restless, ask};
}

}  // namespace

std::vector<Crowd> crowds() {
  const Load mixed = {.options = crowded_options(), .longest_prompt = 48, .longest_output = 160};
  Load unknown = {.options = crowded_options(),
                  .longest_prompt = 12,
                  .longest_output = 12,
                  .tell_output = false};
  unknown.options.device_blocks = 24;
  std::vector<Crowd> all;
  for (const std::uint32_t k : {1U, 2U, 3U, 6U}) all.push_back(stormy(k, true));
  all.push_back(stormy(2, false));
  for (const bool weights : {false, true}) {
    all.push_back(of_all_sizes("all sizes", mixed, weights, 1));
    all.push_back(of_all_sizes("all sizes, lengths unknown", unknown, weights, 1));
  }
  return all;
}

Crowd long_prompts(bool weights) {
  const Load load = {.options = {.budget_tokens = 16,
                                 .slice_iterations = 4,
                                 .min_prefill_tokens = 2,
                                 .block_tokens = 1024,
                                 .device_blocks = 14},
                     .longest_prompt = 400,
                     .longest_output = 8};
  Crowd crowd = of_all_sizes("long prompts", load, weights, 300);
  crowd.restless = 6;
  crowd.ask = [crowd](std::size_t seat, bool storm, std::mt19937_64& random) -> Ask {
    if (!storm || seat < crowd.seats - crowd.restless) return crowd.ask(seat, storm, random);
    return {16, 1, 1};
  };
  return crowd;
}

}  // namespace aqua::schedule::test
