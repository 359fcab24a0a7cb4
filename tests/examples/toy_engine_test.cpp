// SPDX-License-Identifier: Apache-2.0
// The demonstration's engine does what its scheduler says: with another policy, other sequences are
// preempted, and no byte is wrong whatever is decided.
#include "toy_engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "aqua/runtime.hpp"
#include "must.hpp"

namespace aqua::example {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

struct Served {
  std::vector<std::uint64_t> preempted{};  // in order
  ConsumerStats stats{};
};

// Eight requests for a cache that holds three of them, without neighbours. `swap_blocks` bounds
// what may be preempted by a copy.
Served serve(const std::string& policy, bool fallback = false, std::uint32_t swap_blocks = 200) {
  RuntimeOptions wanted;
  wanted.device = "emu:0";
  wanted.coordinator = "none";
  wanted.host_bytes = 64_MiB;
  wanted.emulated.total_bytes = 128_MiB;
  auto runtime = Runtime::open(wanted);
  EXPECT_TRUE(runtime.ok());
  Served served;
  ToyEngine engine(*runtime,
                   {.policy = policy,
                    .fallback = fallback,
                    .cache_blocks = 96,
                    .swap_blocks = swap_blocks,
                    .slice_iterations = 8,
                    .wait_for_copies = true,
                    .on_preemption = [&](std::uint64_t id) { served.preempted.push_back(id); }});
  for (std::uint64_t id = 0; id < 8; ++id) {
    engine.submit({.id = id, .prompt_tokens = 400, .output_tokens = 60});
  }
  while (!engine.idle()) engine.iterate();  // ctest ends what never comes to its end
  served.stats = engine.stats();
  EXPECT_EQ(served.stats.done, 8U);
  EXPECT_EQ(served.stats.tokens, 8U * 60);
  EXPECT_EQ(served.stats.mismatched(), 0U);
  EXPECT_GT(served.stats.verified(), 0U);
  EXPECT_EQ(served.stats.swap.preemptions + served.stats.recomputations, served.preempted.size());
  return served;
}

TEST(ToyEngine, CfsSharesTheCacheAndEverybodyGivesWay) {
  const Served served = serve("cfs");
  EXPECT_THAT(served.preempted, Contains(0));
  const std::set<std::uint64_t> who(served.preempted.begin(), served.preempted.end());
  EXPECT_GE(who.size(), 3U);  // who had the first slice
  EXPECT_EQ(served.stats.swap.verified.sum(), served.stats.swap.fetched.sum());
  EXPECT_EQ(served.stats.swap.fetched.sum(), served.stats.swap.offloaded.sum());
}

TEST(ToyEngine, FcfsNeverPreemptsTheFirstToArrive) {
  for (const char* policy : {"fcfs", "vtc"}) {
    const Served served = serve(policy);
    EXPECT_THAT(served.preempted, Not(Contains(0))) << policy;
    EXPECT_NE(served.preempted, serve("cfs").preempted) << policy;
  }
}

TEST(ToyEngine, LasPreemptsByItsOwnRule) {
  const Served served = serve("las");
  EXPECT_THAT(served.preempted, Not(IsEmpty()));
}

// The last to come have their first token before those that came first are done.
TEST(ToyEngine, AutoMakesRoomForPrompts) {
  const Served served = serve("auto");
  EXPECT_THAT(served.preempted, Not(IsEmpty()));
  // Fair where all keep the pace by turns, partial on a machine that is too slow for that.
  EXPECT_GT(served.stats.switched_to.count("fair") + served.stats.switched_to.count("partial"), 0U);
  EXPECT_THAT(sharing_text(served.stats.switched_to), ::testing::HasSubstr("by turns"));
  EXPECT_FALSE(served.stats.why.empty());
  EXPECT_GT(served.stats.host_seconds_per_block, 0) << "what came back from there was timed";
  EXPECT_EQ(served.stats.peer_seconds_per_block, 0);
  EXPECT_THAT(serve("auto", false, 0).preempted, IsEmpty());
}

// There is no lent memory here: with the fallback nobody is preempted for fairness.
TEST(ToyEngine, FallsBackToFcfsWhileTensorsWouldGoToHostMemory) {
  EXPECT_THAT(serve("cfs", true).preempted, Not(Contains(0)));
}

TEST(ToyEngine, WithoutSwapSpaceNothingIsCopied) {
  const Served served = serve("cfs", false, 0);
  EXPECT_EQ(served.stats.swap.preemptions, 0U);
  EXPECT_EQ(served.stats.swap.offloaded.sum(), 0U);
}

TEST(ToyEngine, AnUnknownPolicyIsRefusedAndTheKnownAreNamed) {
  RuntimeOptions wanted;
  wanted.device = "emu:0";
  wanted.coordinator = "none";
  wanted.host_bytes = 2_MiB;
  auto runtime = Runtime::open(wanted);
  ASSERT_TRUE(runtime.ok());
  EXPECT_THROW(ToyEngine(*runtime, {.policy = "luck"}), Failure);
}

}  // namespace
}  // namespace aqua::example
