// SPDX-License-Identifier: Apache-2.0
#include "tests/systems/kv_stream/naive.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace aqua::kv_stream::test {

double played(std::uint32_t depth, const std::vector<double>& rounds) {
  std::vector<double> free(depth, 0), left(depth, 0);  // by stage; by slot, when it left the last
  double before = 0, after = 0;
  for (int cycle = 0; cycle < 4; ++cycle) {
    before = after;
    for (const double seconds : rounds) {
      for (std::uint32_t slot = 0; slot < depth; ++slot) {
        double ready = left[slot];
        for (double& stage : free) ready = stage = std::max(ready, stage) + seconds;
        left[slot] = ready;
      }
    }
    after = left.back();
  }
  return (after - before) / depth;
}

std::optional<double> naive_seconds(const PlanInput& in, bool prompts, bool tokens,
                                    std::uint32_t depth, const MicrobatchCost& cost, bool swaps) {
  std::vector<std::uint64_t> stages(depth, 0);
  for (std::uint32_t layer = 0; layer < in.layers; ++layer) stages[layer % depth] += 1;
  double slowest_prompt = 0, slowest_token = 0;
  std::vector<double> copies(depth, 0);  // of a token, by microbatch
  const std::uint32_t on_device = depth == 2 ? 1 : 2;
  for (const std::uint64_t layers : stages) {
    if (layers == 0) return std::nullopt;
    const std::uint64_t token = layers * in.layer_kv_bytes * cost.requests;  // one of each request
    std::uint64_t device = in.reserved_bytes + layers * in.layer_weight_bytes, host = 0;
    std::uint64_t buffers = 0;
    for (std::uint32_t i = 0; i < in.streaming_buffers; ++i) buffers += token * in.prompt_tokens;
    if (!tokens) device += token * in.prompt_tokens + buffers;
    if (tokens) {
      for (std::uint32_t i = 0; i < depth; ++i) {
        const std::uint64_t answer =
            token * (in.prompt_tokens + std::max(in.reserved_tokens, in.new_tokens));
        if (swaps) host += answer;
        if (!swaps || i < on_device) device += answer;
      }
      if (!prompts) (swaps ? host : device) += buffers;
    }
    if (device > in.machine_bytes || host > in.away.host_bytes) return std::nullopt;
    const double share = static_cast<double>(layers) / in.layers;
    slowest_prompt = std::max(slowest_prompt, share * cost.prompt_seconds);
    slowest_token = std::max(slowest_token, share * cost.token_seconds);
    std::uint64_t lent = in.away.lent_bytes;
    for (std::uint32_t i = 0; swaps && i < depth; ++i) {
      const std::uint64_t answer =
          token * (in.prompt_tokens + std::max(in.reserved_tokens, in.new_tokens));
      const bool fits =
          lent >= answer && in.away.lent_bytes_per_second > in.away.host_bytes_per_second;
      if (fits) lent -= answer;
      const double rate = fits ? in.away.lent_bytes_per_second : in.away.host_bytes_per_second;
      copies[i] = std::max(copies[i], static_cast<double>(token) / rate);
    }
  }
  std::vector<double> rounds;
  if (!tokens) slowest_prompt *= in.stream_overhead;
  // The mean of what the microbatches of a round take.
  const auto round = [&](double computed, double in_tokens, double out_tokens) {
    double sum = 0;
    for (const double copy : copies) {
      sum += on_device == 1 ? computed + copy * (in_tokens + out_tokens)
                            : std::max({computed, copy * in_tokens, copy * out_tokens});
    }
    rounds.push_back(sum / depth);
  };
  if (prompts) round(slowest_prompt, 0, tokens ? in.prompt_tokens : 0);
  for (std::uint32_t i = 0; tokens && i < in.new_tokens; ++i) {
    round(slowest_token, in.prompt_tokens + i, 1);
  }
  // With prompts apart the link of the machine with the most layers carries their KV meanwhile.
  const double link =
      prompts && tokens ? 0 : cost.stream_seconds * std::ceil(in.layers / 1.0 / depth) / in.layers;
  return std::max(played(depth, rounds), link);
}

std::map<Policy, double> naive_plan(const PlanInput& in) {
  std::map<Policy, double> best;
  const auto offer = [&](Policy policy, double seconds) {
    const auto [at, added] = best.emplace(policy, seconds);
    if (!added) at->second = std::min(at->second, seconds);
  };
  const auto each = [&](bool prompts, bool tokens, std::uint32_t machines, const auto& take) {
    for (std::uint32_t depth = 1; depth <= machines; ++depth) {
      for (const MicrobatchCost& cost : in.microbatches) {
        for (const bool swaps : {false, true}) {
          if (swaps && (!tokens || depth < 2)) continue;
          if (!swaps && tokens && depth > 1 && in.only_swapped) continue;
          const auto seconds = naive_seconds(in, prompts, tokens, depth, cost, swaps);
          for (std::uint32_t n = 1; seconds && n * depth <= machines; ++n) {
            take(n, n * depth, *seconds / cost.requests / n);
          }
        }
      }
    }
  };
  each(true, true, in.machines, [&](std::uint32_t n, std::uint32_t, double seconds) {
    offer(n == 1 ? Policy::colocated : Policy::colocated_dp, seconds);
  });
  each(true, false, in.machines, [&](std::uint32_t p, std::uint32_t used, double prompt) {
    each(false, true, in.machines - used, [&](std::uint32_t t, std::uint32_t, double token) {
      offer(p == 1 && t == 1 ? Policy::disaggregated : Policy::disaggregated_dp,
            std::max(prompt, token));
    });
  });
  return best;
}

PlanInput random_input(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto from = [&](std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint32_t>(low + random() % (high - low + 1));
  };
  PlanInput in{
      .machines = from(1, 6), .machine_bytes = from(20, 400), .reserved_bytes = from(0, 9)};
  in.layers = from(1, 8);
  in.layer_weight_bytes = from(1, 30);
  in.layer_kv_bytes = from(1, 2);
  in.prompt_tokens = from(1, 6);
  in.new_tokens = from(1, 8);
  if (from(0, 3) == 0) in.reserved_tokens = in.new_tokens + from(0, 4);
  in.stream_overhead = 1 + from(0, 10) / 10.0;
  in.streaming_buffers = from(0, 2);
  in.machine_hour_price = from(0, 5);
  if (from(0, 1) == 1) {
    in.away = {.host_bytes = from(50, 1000),
               .host_bytes_per_second = static_cast<double>(from(1, 100))};
    if (from(0, 1) == 1) {
      in.away.lent_bytes = from(20, 400);
      in.away.lent_bytes_per_second = from(10, 1000);
    }
    in.only_swapped = from(0, 5) == 0;
  }
  double prompt = from(1, 40) / 4.0, token = from(1, 20) / 4.0;
  std::uint32_t requests = 0;
  for (std::uint32_t sizes = from(1, 3); sizes > 0; --sizes) {
    requests += from(1, 2);
    in.microbatches.push_back({requests, prompt * requests, token});
    if (from(0, 2) == 0) in.microbatches.back().stream_seconds = from(1, 60) / 4.0 * requests;
    token *= 1 + from(0, 5) / 10.0;
  }
  return in;
}

}  // namespace aqua::kv_stream::test
