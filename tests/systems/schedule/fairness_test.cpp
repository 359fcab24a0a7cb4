// SPDX-License-Identifier: Apache-2.0
// cfs, auto: nobody waits longer than their bounds of docs/engine/scheduling.md. las: somebody
// does.
#include <malloc.h>

#include <algorithm>
#include <iostream>

#include "tests/base/sanitized.hpp"
#include "tests/systems/schedule/crowd.hpp"
#include "tests/systems/schedule/engine.hpp"

namespace aqua::schedule::test {
namespace {

// The longest wait of anybody in a run of six times `bound`; copies take no time.
// `prompt_token_s`: what each token of a prompt adds to the ten milliseconds of an iteration, where
// the time is told; 0: it is not.
std::uint64_t longest_wait(const std::string& policy, const Crowd& crowd, std::uint64_t seed,
                           std::uint64_t bound, double prompt_token_s = 0) {
  const std::uint64_t iterations = 6 * bound;
  std::mt19937_64 random(seed);
  Engine engine(policy, crowd.load.options);
  std::map<std::uint64_t, std::size_t> seat_of;
  std::vector<std::uint64_t> sits(crowd.seats);
  bool storm = false;
  const auto seat_one = [&](std::size_t seat) {
    const Ask ask = crowd.ask(seat, storm, random);
    sits[seat] = engine.arrive(ask.prompt, ask.output, crowd.load.tell_output, ask.weight);
    seat_of[sits[seat]] = seat;
  };
  for (std::size_t seat = 0; seat < crowd.seats; ++seat) seat_one(seat);
  std::uint64_t longest = 0;
  double now = 0;
  for (std::uint64_t i = 0; i < iterations && !::testing::Test::HasFailure(); ++i) {
    // Calm for half a bound, then a storm for a whole one.
    if (storm != (2 * i / bound % 3 != 0)) {
      storm = !storm;
      for (std::size_t seat = crowd.seats - crowd.restless; seat < crowd.seats; ++seat) {
        engine.finish(sits[seat]);
        seat_one(seat);
      }
    }
    if (prompt_token_s > 0) {
      EXPECT_TRUE(engine.scheduler().set_time(now).ok());
      while (engine.plan().moves()) {
        for (const std::uint64_t id : engine.copies()) engine.end_copy(id);
      }
      now += 0.01;
      for (const PrefillChunk& chunk : engine.plan().prefills) now += prompt_token_s * chunk.tokens;
    }
    for (const std::uint64_t id : engine.step()) seat_one(seat_of.at(id));
    for (const auto& [id, s] : engine.sequences()) {
      longest = std::max(longest, engine.iterations() - s.waits_since);
    }
  }
  EXPECT_EQ(engine.iterations(), iterations) << "somebody was always there, and nobody computed";
  return longest;
}

// The longest waits under cfs in three runs and under las in one, as a share of the bound;
// measure() says so.
struct Shares {
  double cfs = 0, las = 0;
};
Shares measure(const Crowd& crowd) {
  const auto share = [&](const char* policy, std::uint64_t seed) {
    return static_cast<double>(longest_wait(policy, crowd, seed, crowd.bound())) /
           static_cast<double>(crowd.bound());
  };
  Shares shares;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    shares.cfs = std::max(shares.cfs, share("cfs", seed));
  }
  shares.las = share("las", 1);
  std::cout << "[ MEASURED ] " << crowd.name << ": the longest wait is " << shares.cfs
            << " of the bound of " << crowd.bound() << " iterations under cfs, " << shares.las
            << " under las" << std::endl;
  return shares;
}

TEST(Fairness, CfsServesEverybodyWithinTheBoundUnderSustainedOverload) {
  double closest = 0;
  for (const Crowd& crowd : crowds()) {
    const Shares shares = measure(crowd);
    EXPECT_LE(shares.cfs, 1.0) << crowd.name;
    EXPECT_GT(shares.las, 1.0) << crowd.name << ": a run that las passes shows nothing";
    closest = std::max(closest, shares.cfs);
  }
  EXPECT_GT(closest, 0.6) << "the bound, or these crowds, have become too easy";
}

TEST(Fairness, LongPromptsTakeTurnsAsTheSliceHasTokensForThem) {
  for (const bool weights : {false, true}) {
    const Crowd crowd = long_prompts(weights);
    ASSERT_LT(crowd.load.g_of_tokens(), crowd.load.g_of_memory());
    const Shares shares = measure(crowd);
    EXPECT_LE(shares.cfs, 1.0);
    EXPECT_GT(shares.las, 1.0);
    const std::uint64_t of_memory = crowd.load.bound(crowd.seats, crowd.load.g_of_memory());
    EXPECT_GT(shares.cfs * static_cast<double>(crowd.bound()), static_cast<double>(of_memory))
        << "memory limited their turns, not tokens";
  }
}

TEST(Fairness, AutoServesEverybodyWithinItsBoundUnderSustainedOverload) {
  std::vector<Crowd> all = crowds();
  all.push_back(long_prompts(false));
  all.push_back(long_prompts(true));
  double closest = 0;
  for (const Crowd& crowd : all) {
    const std::uint64_t bound = crowd.load.bound_of_auto(crowd.seats);
    std::uint64_t longest = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      longest = std::max(longest, longest_wait("auto", crowd, seed, bound));
      // Prompts of which an iteration computes the least share, and whose places are far behind.
      EXPECT_LE(longest_wait("auto", crowd, seed, bound, 0.05), bound)
          << crowd.name << ", with a clock";
    }
    EXPECT_LE(longest, bound) << crowd.name;
    EXPECT_GT(longest_wait("las", crowd, 1, bound), bound)
        << crowd.name << ": a run that las passes shows nothing";
    closest = std::max(closest, static_cast<double>(longest) / static_cast<double>(bound));
    std::cout << "[ MEASURED ] " << crowd.name << ": the longest wait is " << longest
              << " iterations under auto, of the bound of " << bound << std::endl;
  }
  EXPECT_GT(closest, 0.6) << "the bound, or these crowds, have become too easy";
}

// An open crowd that grows all the time. N counts until the slice is over in which a wait begins.
TEST(Fairness, CfsKeepsTheBoundWhileTheCrowdGrows) {
  const Load load = {.options = crowded_options(), .longest_prompt = 48, .longest_output = 160};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    Engine engine("cfs", load.options);
    std::map<std::uint64_t, std::pair<std::uint64_t, std::size_t>> begun;  // a wait, and N then
    std::size_t most = 0;
    for (int i = 0; i < 500 && !HasFailure(); ++i) {
      if (seed % 2 == 0 || i % 3 == 0) {
        engine.arrive(1 + below(48), 1 + below(160), true, 0.25 * (1 + below(16)));
      }
      engine.step();
      most = std::max(most, engine.sequences().size());
      for (const auto& [id, s] : engine.sequences()) {
        const std::uint64_t wait = engine.iterations() - s.waits_since;
        auto& [since, there] = begun[id];
        if (since != s.waits_since || wait <= load.options.slice_iterations) {
          since = s.waits_since;
          there = most;
        }
        EXPECT_LE(wait, load.bound(there)) << "seed " << seed;
      }
    }
    EXPECT_GT(most, 100U) << "this was no overload";
  }
}

// The paper's rule is least attained service: whoever has generated most stands still for as long
// as others come.
TEST(Fairness, LasStarvesUnderOverload) {
  const auto stands_still = [](const std::string& policy) {
    Engine engine(policy, crowded_options());
    const std::uint64_t old = engine.arrive(20, 400);
    for (int i = 0; i < 100; ++i) engine.step();  // alone: it generates
    std::uint64_t longest = 0;
    for (int i = 0; i < 1200; ++i) {
      if (i % 6 == 0) engine.arrive(40, 60);  // twice of what memory can serve
      engine.step();
      const auto& s = engine.sequences().find(old);
      if (s == engine.sequences().end()) break;
      longest = std::max(longest, engine.iterations() - s->second.waits_since);
    }
    return longest;
  };
  EXPECT_GT(stands_still("las"), 1000U);  // of 1200
  EXPECT_LT(stands_still("cfs"), 250U);
}

// Shares follow weights among those who run for long.
TEST(Fairness, CfsGivesServiceInProportionToWeights) {
  SchedulerOptions small = crowded_options();
  small.device_blocks = 40;
  small.slice_iterations = 4;
  Engine engine("cfs", small);
  std::map<std::uint64_t, double> weight_of;
  for (int i = 0; i < 16; ++i) {
    const double weight = i % 2 == 0 ? 1.0 : 1.5;
    weight_of[engine.arrive(8, 60, false, weight)] = weight;
  }
  for (int i = 0; i < 140; ++i) engine.step();
  double served[2] = {};
  for (const auto& [id, s] : engine.sequences()) served[weight_of[id] > 1] += s.generated;
  EXPECT_EQ(engine.sequences().size(), 16U) << "somebody finished: the shares are not comparable";
  EXPECT_NEAR(served[1] / served[0], 1.5, 0.2);
}

// Tenants with the same weight get the same tokens, however many requests one of them sends.
TEST(Fairness, VtcIsFairBetweenTenants) {
  Engine engine("vtc", crowded_options());
  std::map<std::uint64_t, std::uint64_t> tenant_of, served;
  const auto come = [&](std::uint64_t tenant, int count) {
    for (int i = 0; i < count; ++i) tenant_of[engine.arrive(30, 30, true, 1, tenant)] = tenant;
  };
  come(1, 300);
  come(2, 60);
  for (int i = 0; i < 400; ++i) {
    for (const std::uint64_t id : engine.step()) served[tenant_of[id]] += 1;
    std::size_t left = 0;
    for (const auto& [id, s] : engine.sequences()) left += tenant_of[id] == 2;
    if (left < 20) break;
  }
  ASSERT_GT(served[2], 20U);
  EXPECT_NEAR(static_cast<double>(served[1]) / static_cast<double>(served[2]), 1.0, 0.15);
}

// Each ends above the least counter, which those that come later raise.
TEST(Fairness, VtcForgetsTenantsWhoseRequestsHaveEnded) {
#ifdef AQUA_SANITIZED
  GTEST_SKIP() << "of a sanitizer's memory mallinfo2() does not tell";
#endif
  Engine engine("vtc", crowded_options());
  std::uint64_t tenant = 0;
  const auto bytes_after = [&](int tenants) {
    for (int i = 0; i < tenants; ++i) {
      engine.arrive(16, 4, true, 1, ++tenant);
      while (!engine.sequences().empty()) engine.step();
    }
    return ::mallinfo2().uordblks;
  };
  const std::size_t before = bytes_after(100);
  EXPECT_LT(bytes_after(10'000), before + 100'000) << "ten bytes a tenant";
}

}  // namespace
}  // namespace aqua::schedule::test
