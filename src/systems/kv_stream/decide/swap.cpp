// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/swap.hpp"

#include <algorithm>
#include <cmath>

namespace aqua::kv_stream {
namespace {

// Steps whose copies hide, as far as they are shorter: `step` seconds each, or the copy's.
TokenSteps overlapped(double step, double count, double before, double copy) {
  if (copy <= 0) return {count * step, step, step};
  const double hidden = std::floor(step / copy);  // tokens whose copies are no longer than a step
  const double quick = std::clamp(hidden - before + 1, 0.0, count);
  const double slow = count - quick;
  const double copied = slow * (before + quick + before + count - 1) / 2;
  const auto longer = [&](double held) { return std::max(step, held * copy); };
  return {quick * step + copied * copy, longer(before), longer(before + count - 1)};
}

// In, computed, and what was added out again.
TokenSteps one_by_one(double step, double count, double before, double copy) {
  const auto all = [&](double held) { return step + (held + 1) * copy; };
  const double first = all(before), last = all(before + count - 1);
  return {count * (first + last) / 2, first, last};
}

double mean(const AwayPlaces& places, double lent, double host) {
  const double all = places.lent + places.host;
  return all == 0 ? host : (places.lent * lent + places.host * host) / all;
}

}  // namespace

std::optional<AwayPlaces> place_away(const AwayMemory& memory, std::uint32_t microbatches,
                                     std::uint64_t bytes_each, std::uint64_t other_host_bytes) {
  if (other_host_bytes > memory.host_bytes) return std::nullopt;
  const std::uint64_t room = memory.host_bytes - other_host_bytes;
  if (bytes_each > 0 && room / bytes_each < microbatches) return std::nullopt;
  const bool faster = memory.lent_bytes_per_second > memory.host_bytes_per_second;
  const std::uint64_t lent = faster && bytes_each > 0 ? memory.lent_bytes / bytes_each : 0;
  AwayPlaces places{.lent =
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(lent, microbatches))};
  places.host = microbatches - places.lent;
  return places;
}

SwapCopies swap_copies(const AwayMemory& memory, const AwayPlaces& places,
                       std::uint64_t token_bytes, std::uint32_t depth) {
  const auto bytes = static_cast<double>(token_bytes);
  return {.buffers = swap_buffers(depth),
          .places = places,
          .lent_seconds = places.lent > 0 ? bytes / memory.lent_bytes_per_second : 0,
          .host_seconds = places.host > 0 ? bytes / memory.host_bytes_per_second : 0};
}

TokenSteps swapped_steps(double step_seconds, std::uint64_t tokens, std::uint64_t prompt_tokens,
                         const SwapCopies& copies) {
  const auto count = static_cast<double>(tokens), before = static_cast<double>(prompt_tokens);
  const auto steps = [&](double copy) {
    return copies.buffers > 1 ? overlapped(step_seconds, count, before, copy)
                              : one_by_one(step_seconds, count, before, copy);
  };
  const TokenSteps lent = steps(copies.lent_seconds), host = steps(copies.host_seconds);
  return {mean(copies.places, lent.seconds, host.seconds),
          mean(copies.places, lent.first, host.first), mean(copies.places, lent.last, host.last)};
}

double swapped_prompt(double prompt_seconds, std::uint64_t prompt_tokens,
                      const SwapCopies& copies) {
  const auto prompt = [&](double copy) {
    const double out = copy * static_cast<double>(prompt_tokens);
    return copies.buffers > 1 ? std::max(prompt_seconds, out) : prompt_seconds + out;
  };
  return mean(copies.places, prompt(copies.lent_seconds), prompt(copies.host_seconds));
}

double swapping_gain(const SwapChoice& choice) {
  const auto& [depth, prompt_tokens, tokens, kept, swapped, copies] = choice;
  const double without =
      inverse_throughput(depth, kept.prompt_seconds, token_steps(kept.token_seconds, tokens));
  const double prompt = swapped.prompt_seconds > 0
                            ? swapped_prompt(swapped.prompt_seconds, prompt_tokens, copies)
                            : 0;
  const double with = inverse_throughput(
      depth, prompt, swapped_steps(swapped.token_seconds, tokens, prompt_tokens, copies));
  return (without / kept.requests) / (with / swapped.requests);
}

}  // namespace aqua::kv_stream
