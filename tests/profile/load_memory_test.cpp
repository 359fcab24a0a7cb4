#include "profiler/load_memory.hpp"

#include <gtest/gtest.h>

#include "profiler/swap_needs.hpp"

namespace aqua::profiler {
namespace {

Trip trip(double at, double first, double end, std::uint64_t prompt, std::uint64_t output) {
  return {
      .at_s = at, .first_s = first, .end_s = end, .prompt_tokens = prompt, .output_tokens = output};
}

TEST(LoadTokens, OfOneIsItsPromptAndItsAnswer) {
  const LoadTokens tokens = load_tokens({trip(0, 1, 2, 100, 10)});
  EXPECT_DOUBLE_EQ(tokens.peak_served, 110);
  EXPECT_DOUBLE_EQ(tokens.peak_wanted, 110);
  EXPECT_DOUBLE_EQ(tokens.mean_waiting, 0.5);
}

TEST(LoadTokens, OfTwoAtOnceIsBothAsFarAsTheyAre) {
  const LoadTokens tokens = load_tokens({trip(0, 0, 10, 100, 100), trip(0, 0, 5, 1000, 10)});
  EXPECT_DOUBLE_EQ(tokens.peak_served, 1010 + 150);
}

TEST(LoadTokens, WantedCountsThoseWhoWait) {
  const LoadTokens tokens = load_tokens({trip(0, 0, 4, 100, 4), trip(1, 5, 6, 500, 1)});
  EXPECT_DOUBLE_EQ(tokens.peak_served, 501);
  EXPECT_DOUBLE_EQ(tokens.peak_wanted, 104 + 500);
}

TEST(LoadTokens, PassesOverWhatWasNeverAnswered) {
  const LoadTokens tokens = load_tokens({trip(0, -1, -1, 100, 4), trip(0, 1, -1, 100, 4)});
  EXPECT_DOUBLE_EQ(tokens.peak_wanted, 0);
}

TEST(SwapNeeds, AreWhatThePoolCannotHold) {
  EXPECT_DOUBLE_EQ(prefix_swap_bytes(3, 1000, 10), 30'000);
  EXPECT_DOUBLE_EQ(long_prompt_swap_bytes(1000, 10, 4000), 6000);
  EXPECT_DOUBLE_EQ(long_prompt_swap_bytes(100, 10, 4000), 0);
  EXPECT_DOUBLE_EQ(burst_swap_bytes(5000, 4000), 1000);
  EXPECT_DOUBLE_EQ(burst_swap_bytes(3000, 4000), 0);
}

}  // namespace
}  // namespace aqua::profiler
