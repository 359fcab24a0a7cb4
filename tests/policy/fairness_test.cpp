// cfs: nobody waits longer than the bound of docs/scheduling.md. las: somebody does.
#include <algorithm>

#include "policy/engine.hpp"

namespace aqua::policy::test {
namespace {

// docs/scheduling.md, "How long anybody waits": iterations between two services.
//   n       iterations of a slice
//   N       the most sequences there were at once, until the wait began
//   M, m    blocks of the device, and the most that one sequence is promised
// Prompts are short here: a slice has tokens for more of them than memory has places.
std::uint64_t bound(std::uint64_t n, std::uint64_t most_there, std::uint64_t device,
                    std::uint64_t largest) {
  const auto rounds = [&](std::uint64_t places) { return (most_there + places - 1) / places; };
  const std::uint64_t k = device / largest;
  const std::uint64_t g = std::max<std::uint64_t>(1, (k + 2) / 4);
  return n * (2 * rounds(k) + 2 * rounds(g) + 1);
}

SchedulerOptions options() {
  return {.budget_tokens = 64,
          .slice_iterations = 8,
          .min_prefill_tokens = 16,
          .block_tokens = 4,
          .device_blocks = 160};
}

struct Waits {
  std::uint64_t longest = 0;  // of anybody, in iterations
  double worst_of_bound = 0;  // the longest wait as a share of its bound
  std::size_t most_runnable = 0;
};

// Arrivals at `rate` an iteration, for `iterations`; copies take no time.
Waits overload(const std::string& policy, std::uint64_t seed, double rate, int iterations,
               bool weights) {
  std::mt19937_64 random(seed);
  const auto up_to = [&](std::uint64_t n) {
    return static_cast<std::uint32_t>(random() % (n + 1));
  };
  Engine engine(policy, options());
  const std::uint64_t most = (48 + 160 + 3) / 4;  // blocks of the largest prompt and answer
  Waits waits;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::size_t>>
      since;  // begin of the wait, N then
  std::bernoulli_distribution comes(rate);
  for (int i = 0; i < iterations && !::testing::Test::HasFailure(); ++i) {
    if (comes(random)) {
      engine.arrive(1 + up_to(47), 1 + up_to(159), true, weights ? 0.25 * (1 + up_to(15)) : 1);
    }
    engine.step();
    waits.most_runnable = std::max(waits.most_runnable, engine.sequences().size());
    for (const auto& [id, s] : engine.sequences()) {
      auto [at, fresh] = since.try_emplace(id, s.waits_since, waits.most_runnable);
      if (at->second.first != s.waits_since) {
        at->second = {s.waits_since, waits.most_runnable};
      }
      const std::uint64_t wait = engine.iterations() - s.waits_since;
      const std::uint64_t most_wait = bound(8, at->second.second, 160, most);
      waits.longest = std::max(waits.longest, wait);
      waits.worst_of_bound = std::max(waits.worst_of_bound,
                                      static_cast<double>(wait) / static_cast<double>(most_wait));
    }
  }
  return waits;
}

TEST(Fairness, CfsServesEverybodyWithinTheBoundUnderSustainedOverload) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const double rate : {0.1, 0.3, 1.0}) {
      const Waits waits = overload("cfs", seed, rate, 1500, seed % 2 == 0);
      EXPECT_LE(waits.worst_of_bound, 1.0) << "seed " << seed << " rate " << rate;
      if (rate >= 0.3) {
        EXPECT_GT(waits.most_runnable, 100U) << "this was no overload";
      }
    }
  }
}

// The paper's rule is least attained service: whoever has generated most stands still for as long
// as others come.
TEST(Fairness, LasStarvesUnderOverload) {
  const auto stands_still = [](const std::string& policy) {
    Engine engine(policy, options());
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
  SchedulerOptions small = options();
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
  Engine engine("vtc", options());
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

}  // namespace
}  // namespace aqua::policy::test
