// SPDX-License-Identifier: Apache-2.0
// The rule of microbatch swapping by hand, and beside sums that are made step by step.
#include "aqua/kv_stream/swap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace aqua::kv_stream::test {
namespace {

TEST(Swap, OneMicrobatchOfTwoIsOnTheDeviceAndTwoOfMore) {
  EXPECT_EQ(swap_buffers(2), 1U);
  EXPECT_EQ(swap_buffers(3), 2U);
  EXPECT_EQ(swap_buffers(16), 2U);
}

TEST(Swap, LentMemoryIsFilledFirstAndHostMemoryBoundsAll) {
  const AwayMemory memory{
      .host_bytes = 40, .host_bytes_per_second = 1, .lent_bytes = 25, .lent_bytes_per_second = 10};
  EXPECT_EQ(place_away(memory, 4, 10), (AwayPlaces{.lent = 2, .host = 2}));
  EXPECT_EQ(place_away(memory, 2, 10), (AwayPlaces{.lent = 2, .host = 0}));
  EXPECT_EQ(place_away(memory, 4, 10, 1), std::nullopt) << "each has its exit in host memory";
  EXPECT_EQ(place_away(memory, 5, 10), std::nullopt);
  EXPECT_EQ(place_away(memory, 1, 10, 41), std::nullopt);
  const AwayMemory host_only{.host_bytes = 40, .host_bytes_per_second = 1};
  EXPECT_EQ(place_away(host_only, 4, 10), (AwayPlaces{.lent = 0, .host = 4}));
  AwayMemory slow = memory;
  slow.lent_bytes_per_second = 1;
  EXPECT_EQ(place_away(slow, 4, 10), (AwayPlaces{.lent = 0, .host = 4})) << "it gains nothing";
}

SwapCopies host_copies(double seconds, std::uint32_t depth) {
  return {.buffers = swap_buffers(depth), .places = {.host = depth}, .host_seconds = seconds};
}

TEST(Swap, WithTwoBuffersAStepTakesTheLongerOfItselfAndTheCopy) {
  // KV of 8, 9, 10, 11 tokens: copies of 0.8 to 1.1 s beside steps of 1 s.
  const TokenSteps steps = swapped_steps(1, 4, 8, host_copies(0.1, 4));
  EXPECT_DOUBLE_EQ(steps.seconds, 1 + 1 + 1 + 1.1);
  EXPECT_DOUBLE_EQ(steps.first, 1);
  EXPECT_DOUBLE_EQ(steps.last, 1.1);
  EXPECT_DOUBLE_EQ(swapped_prompt(0.5, 8, host_copies(0.1, 4)), 0.8) << "the KV goes out meanwhile";
  EXPECT_DOUBLE_EQ(swapped_prompt(0.9, 8, host_copies(0.1, 4)), 0.9);
}

TEST(Swap, WithOneBufferCopiesAndStepsAddUp) {
  const TokenSteps steps = swapped_steps(1, 3, 8, host_copies(0.1, 2));
  EXPECT_DOUBLE_EQ(steps.seconds, (1 + 0.8 + 0.1) + (1 + 0.9 + 0.1) + (1 + 1.0 + 0.1));
  EXPECT_DOUBLE_EQ(steps.first, 1.9);
  EXPECT_DOUBLE_EQ(steps.last, 2.1);
  EXPECT_DOUBLE_EQ(swapped_prompt(0.5, 8, host_copies(0.1, 2)), 1.3);
}

TEST(Swap, StepsAreTheMeanOfMicrobatchesInLentAndInHostMemory) {
  const AwayMemory memory{.host_bytes = 1000,
                          .host_bytes_per_second = 10,
                          .lent_bytes = 1000,
                          .lent_bytes_per_second = 40};
  const SwapCopies copies = swap_copies(memory, {.lent = 3, .host = 1}, 4, 4);
  EXPECT_DOUBLE_EQ(copies.lent_seconds, 0.1);
  EXPECT_DOUBLE_EQ(copies.host_seconds, 0.4);
  EXPECT_DOUBLE_EQ(swapped_steps(1, 1, 5, copies).seconds, (3 * 1 + 5 * 0.4) / 4);
}

TEST(Swap, StepsAreSummedAsIfOneByOne) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t prompt = random() % 50, tokens = 1 + random() % 50;
    const double step = 1 + static_cast<double>(random() % 40);
    const auto drawn = [&] { return 0.05 * static_cast<double>(random() % 20); };
    const SwapCopies copies{.buffers = 1 + static_cast<std::uint32_t>(random() % 2),
                            .places = {static_cast<std::uint32_t>(random() % 3),
                                       static_cast<std::uint32_t>(1 + random() % 3)},
                            .lent_seconds = drawn(),
                            .host_seconds = drawn()};
    double sum = 0;
    for (std::uint32_t of = 0; of < copies.places.lent + copies.places.host; ++of) {
      const double copy = of < copies.places.lent ? copies.lent_seconds : copies.host_seconds;
      for (std::uint64_t at = prompt; at < prompt + tokens; ++at) {
        const double in = copy * static_cast<double>(at);
        sum += copies.buffers == 1 ? in + step + copy : std::max(step, in);
      }
    }
    sum /= copies.places.lent + copies.places.host;
    EXPECT_NEAR(swapped_steps(step, tokens, prompt, copies).seconds, sum, 1e-9 * sum);
  }
}

// Appendix E: two microbatches of B, or one of 2B that is swapped. A prompt of 1000 tokens, 100 new
// ones: 0.15 s to copy what B = 1 holds at first. Prompts are elsewhere, as in its last line.
TEST(Swap, BothHalvesOfTheMicrobatchAreMoved) {
  SwapChoice choice{.depth = 4,
                    .prompt_tokens = 1000,
                    .tokens = 100,
                    .kept = {.requests = 1, .token_seconds = 0.1},
                    .swapped = {.requests = 2, .token_seconds = 0.1},
                    .copies = host_copies(1.5e-4, 4)};
  EXPECT_GT(swapping_gain(choice), 1.2) << "B, as it is printed: it pays";
  choice.copies = host_copies(3e-4, 4);
  double moved = 0;
  for (int i = 1000; i < 1100; ++i) moved += std::max(0.1, i * 3e-4);
  const double waits = 0.75 * (1099 - 1000) * 3e-4;  // a round after the longer ones before it
  EXPECT_NEAR(swapping_gain(choice), 2 * 10 / (moved + waits), 1e-12);
  EXPECT_LT(swapping_gain(choice), 0.7) << "2B, as they are moved";
  choice.copies = host_copies(0, 4);
  EXPECT_DOUBLE_EQ(swapping_gain(choice), 2) << "copies that cost nothing";
}

TEST(Swap, NeverPaysWhereTheLargerMicrobatchTakesAsMuchLongerAndAFasterLinkNeverHarms) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> times(0.1, 10);
  for (int i = 0; i < 2000; ++i) {
    const double prompt = times(random), token = times(random);
    const auto more = static_cast<std::uint32_t>(2 + random() % 3);
    const auto depth = static_cast<std::uint32_t>(2 + random() % 7);
    SwapChoice choice{.depth = depth,
                      .prompt_tokens = 1 + random() % 100,
                      .tokens = 1 + random() % 100,
                      .kept = {1, prompt, token},
                      .swapped = {more, more * prompt, more * token},
                      .copies = host_copies(times(random) / 100, depth)};
    EXPECT_LE(swapping_gain(choice), 1 + 1e-12);
    const double slow = swapping_gain(choice);
    choice.copies.host_seconds /= 2;
    EXPECT_GE(swapping_gain(choice), slow * (1 - 1e-12)) << "a faster link";
  }
}

}  // namespace
}  // namespace aqua::kv_stream::test
