// SPDX-License-Identifier: Apache-2.0
// Several engines that a packer rules: nothing is lost while requests move, and what is counted is
// what happened.
#include <map>
#include <numeric>

#include "tests/tools/sim/ground.hpp"
#include "tools/sim/engine/world.hpp"
#include "tools/sim/fleet/serve_fleet.hpp"

namespace aqua::sim::test {
namespace {

Ground small_ground(bool skip = true) {
  Scenario scenario = small_scenario();
  scenario.kv_tokens = 8000;
  scenario.skip = skip;
  return must(resolve(scenario, {}));
}

FleetShape small_fleet(const std::string& packer) {
  return {.packer = packer, .engines = 16, .engines_per_server = 4, .boot_s = 5, .linger_s = 5};
}

Workload some_work() {
  return must(poisson(mixed_trace(500), {.requests = 600, .per_second = 12}, 3));
}

FleetOutcome run(const FleetShape& shape, const Workload& work, bool skip = true) {
  return must(serve_fleet(small_ground(skip), work, shape, {}));
}

class Packers : public ::testing::TestWithParam<std::string> {};

TEST_P(Packers, EveryTokenIsAccountedFor) {
  const Workload work = some_work();
  for (const packing::Allowed moves :
       {packing::Allowed::both, packing::Allowed::kv_only, packing::Allowed::tokens_only}) {
    FleetShape shape = small_fleet(GetParam());
    shape.moves = moves;
    shape.compute_share = 0.5;
    const FleetOutcome outcome = run(shape, work);
    std::uint64_t computed = 0, given = 0;
    for (std::size_t i = 0; i < work.requests.size(); ++i) {
      const RequestOutcome& request = outcome.run.requests[i];
      ASSERT_FALSE(request.refused());
      EXPECT_GE(request.first_token, request.arrival);
      EXPECT_GE(request.finish, request.first_token);
      computed += request.prompt_tokens + request.output_tokens - 1;
      given += request.output_tokens;
    }
    const Totals& totals = outcome.run.totals;
    EXPECT_EQ(totals.prefill_tokens + totals.decode_tokens, computed);
    EXPECT_EQ(totals.output_tokens, given);
    EXPECT_LE(outcome.utilization, 1);
    const bool plans_moves = GetParam() != "bf" && GetParam() != "wf";
    EXPECT_EQ(outcome.moves_kv + outcome.moves_tokens > 0, plans_moves);
    if (moves == packing::Allowed::tokens_only) {
      EXPECT_EQ(outcome.moves_kv, 0u);
      EXPECT_EQ(outcome.bytes_moved, 0);
    }
  }
}

TEST_P(Packers, SkippingOverEqualIterationsChangesNothing) {
  const Workload work = some_work();
  const FleetOutcome fast = run(small_fleet(GetParam()), work);
  const FleetOutcome slow = run(small_fleet(GetParam()), work, false);
  EXPECT_LT(fast.run.totals.decisions, slow.run.totals.decisions);
  ASSERT_EQ(fast.run.requests.size(), slow.run.requests.size());
  for (std::size_t i = 0; i < work.requests.size(); ++i) {
    EXPECT_EQ(fast.run.requests[i].first_token, slow.run.requests[i].first_token);
    EXPECT_EQ(fast.run.requests[i].finish, slow.run.requests[i].finish);
    EXPECT_EQ(fast.run.requests[i].longest_gap, slow.run.requests[i].longest_gap);
  }
  EXPECT_EQ(fast.gpu_hours, slow.gpu_hours);
  EXPECT_EQ(fast.moves_kv, slow.moves_kv);
}

INSTANTIATE_TEST_SUITE_P(Each, Packers, ::testing::ValuesIn(packing::packer_names()),
                         [](const auto& test) { return test.param; });

TEST(Fleet, MovesWhatThePackerOrders) {
  const FleetOutcome pack = run(small_fleet("pack"), some_work());
  EXPECT_GT(pack.moves_kv, 20u);
  EXPECT_GT(pack.bytes_moved, 0);
  const FleetOutcome spread = run(small_fleet("wf"), some_work());
  EXPECT_EQ(spread.moves_kv + spread.moves_tokens, 0u);
  EXPECT_LT(pack.mean_used, spread.mean_used);
}

TEST(Fleet, AMoveCostsTheTimeOfItsBytes) {
  FleetShape near = small_fleet("pack"), far = near;
  far.engines_per_server = 1;
  far.network_bytes_per_second = 0.5e9;
  near.moves = far.moves = packing::Allowed::kv_only;
  far.link_share = 1;
  const FleetOutcome fast = run(near, some_work()), slow = run(far, some_work());
  EXPECT_EQ(fast.moves_later, 0u);
  EXPECT_GT(slow.moves_later, 0u) << "links of half a gigabyte a second were never full";
  EXPECT_GT(slow.metrics.longest_gap_p99_s, fast.metrics.longest_gap_p99_s);
}

TEST(Fleet, WhatIsAlwaysUpIsUpAllTheTime) {
  FleetShape shape = small_fleet("wf");
  shape.fixed = true;
  shape.engines = 8;
  const FleetOutcome outcome = run(shape, some_work());
  const Picos end = outcome.run.makespan + outcome.run.requests.front().arrival;
  EXPECT_NEAR(outcome.gpu_hours, 8 * seconds(end) / 3600, 1e-9);
  EXPECT_EQ(outcome.boots, 0u);
}

TEST(Fleet, WhoeverWaitsForABootWaitsForIt) {
  FleetShape shape = small_fleet("pack");
  shape.spare = 0;
  const FleetOutcome outcome = run(shape, some_work());
  EXPECT_GE(outcome.run.requests.front().ttft(), shape.boot_s);
  EXPECT_GT(outcome.boots, 1u);
  shape.spare = 1;
  EXPECT_LT(run(shape, some_work()).run.requests.front().ttft(), shape.boot_s);
}

TEST(Fleet, EnginesThatAreNotUsedLendAndWakeAtOnceWhereNobodyBorrows) {
  FleetShape boots = small_fleet("pack"), lends = boots;
  boots.spare = lends.spare = 0;
  lends.lend = true;
  const FleetOutcome cold = run(boots, some_work()), warm = run(lends, some_work());
  EXPECT_LT(warm.run.requests.front().ttft(), 1);
  EXPECT_LT(warm.metrics.ttft_p99_s, cold.metrics.ttft_p99_s / 2);
  EXPECT_GT(warm.lent_gb_hours, 0);
  EXPECT_EQ(cold.lent_gb_hours, 0);
}

// bf moves nothing, so that its engines overflow: into what others lend, and come back from there.
TEST(Fleet, WhatOverflowsGoesToLentMemoryAndEveryTokenIsAccountedFor) {
  FleetShape shape = small_fleet("bf");
  shape.options.watermark = 0;
  shape.lend = true;
  const Workload work = some_work();
  const FleetOutcome outcome = run(shape, work), slow = run(shape, work, false);
  EXPECT_GT(outcome.borrowed_gb_hours, 0);
  EXPECT_LE(outcome.borrowed_gb_hours, outcome.lent_gb_hours);
  EXPECT_GT(outcome.run.totals.swaps_in, 0u);  // the packer drops the KV of some that are out
  EXPECT_LE(outcome.run.totals.swaps_in, outcome.run.totals.swaps_out);
  std::uint64_t computed = 0;
  for (std::size_t i = 0; i < work.requests.size(); ++i) {
    const RequestOutcome& request = outcome.run.requests[i];
    ASSERT_FALSE(request.refused());
    computed += request.prompt_tokens + request.output_tokens - 1;
    EXPECT_EQ(request.finish, slow.run.requests[i].finish);
  }
  EXPECT_EQ(outcome.run.totals.prefill_tokens + outcome.run.totals.decode_tokens, computed);
}

TEST(Fleet, PlacementsNameEachRequestOnceAnEpochAndNeverMoreThanAnEngineHolds) {
  FleetShape shape = small_fleet("pack");
  shape.keep_placements = true;
  const FleetOutcome outcome = run(shape, some_work());
  ASSERT_FALSE(outcome.placements.empty());
  std::map<std::pair<std::uint64_t, std::uint32_t>, int> seen;
  for (const PlacementRow& row : outcome.placements) {
    EXPECT_EQ((++seen[{row.epoch, row.request}]), 1);
    EXPECT_LT(row.engine, shape.engines);
    EXPECT_LE(row.tokens, 8000u);
  }
}

TEST(Fleet, RefusesWhatNoEngineHolds) {
  Trace trace = constant_trace(100, 10, 3);
  trace.requests[1].prompt_tokens = 7900;
  const FleetOutcome outcome = run(small_fleet("pack"), must(tiled(trace, 3)));
  EXPECT_EQ(outcome.metrics.refused, 1u);
  EXPECT_EQ(outcome.metrics.completed, 2u);
}

Workload asked(std::initializer_list<TraceRequest> requests) {
  return {.requests = requests};
}

// Engine 0 is off by then, and 1 is up and unused: the third request must not wait for a boot.
TEST(Fleet, AnEngineThatLingersIsUsedAgainBeforeOneThatIsOff) {
  const Workload work =
      asked({{.arrival = 0, .prompt_tokens = 4500, .output_tokens = 50},
             {.arrival = picos(0.1), .prompt_tokens = 4500, .output_tokens = 1500},
             {.arrival = picos(98), .prompt_tokens = 4500, .output_tokens = 200}});
  FleetShape shape = small_fleet("bf");
  shape.engines = 4;
  shape.spare = 0;
  shape.boot_s = 30;
  shape.linger_s = 60;
  const FleetOutcome outcome = run(shape, work);
  EXPECT_GT(outcome.run.requests[1].finish, picos(39)) << "it is to linger at the third";
  EXPECT_LT(outcome.run.requests[1].finish, picos(98));
  EXPECT_LT(outcome.run.requests[2].ttft(), 10);
  EXPECT_EQ(outcome.boots, 2u);
}

TEST(Fleet, GpuTimeLastsUntilTheLastRequestAlsoIfThatIsRefused) {
  const Workload work =
      asked({{.arrival = 0, .prompt_tokens = 1000, .output_tokens = 50},
             {.arrival = picos(600), .prompt_tokens = 7990, .output_tokens = 500}});
  FleetShape shape = small_fleet("pack");
  shape.fixed = true;
  const FleetOutcome outcome = run(shape, work);
  EXPECT_EQ(outcome.metrics.refused, 1u);
  EXPECT_NEAR(outcome.gpu_hours, 16 * 600.0 / 3600, 1e-9);
}

// Plans come faster than iterations end: who was preempted, placed and moved has not left yet.
TEST(Fleet, WhoHasNotLeftYetIsServedOnce) {
  Scenario scenario = small_scenario();
  scenario.kv_tokens = 4000;
  const Ground ground = must(resolve(scenario, {}));
  Workload work = must(poisson(mixed_trace(500), {.requests = 300, .per_second = 40}, 3));
  for (const std::string& packer : packing::packer_names()) {
    FleetShape shape{.packer = packer, .engines = 16, .engines_per_server = 1, .epoch_s = 0.01};
    shape.options.watermark = 0;
    shape.fixed = true;
    const FleetOutcome outcome = must(serve_fleet(ground, work, shape, {}));
    std::uint64_t given = 0, wanted = 0;
    for (const RequestOutcome& request : outcome.run.requests) {
      if (!request.refused()) wanted += request.output_tokens;
    }
    given = outcome.run.totals.output_tokens;
    EXPECT_EQ(given, wanted) << packer;
  }
}

TEST(Fleet, NobodyAsksForAnything) {
  const FleetOutcome outcome = run(small_fleet("pack"), Workload{.requests = {}});
  EXPECT_EQ(outcome.gpu_hours, 0);
  EXPECT_EQ(outcome.metrics.completed, 0u);
}

TEST(Fleet, BadShapesAreNamed) {
  FleetShape shape = small_fleet("best");
  const auto unknown = serve_fleet(small_ground(), some_work(), shape, {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::invalid_argument);
  for (unsigned FleetShape::*field : {&FleetShape::engines, &FleetShape::engines_per_server}) {
    shape = small_fleet("pack");
    shape.*field = 0;
    const auto none = serve_fleet(small_ground(), some_work(), shape, {});
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, Code::invalid_argument);
  }
}

// On Azure's conversations, four times faster, at equal attainment of the SLA.
TEST(FleetOnTheTrace, PackingNeedsFewerGpuHoursThanSpreading) {
  const auto path = data("traces/azure_llm_inference_conv_2023.csv");
  if (path.empty()) GTEST_SKIP() << "AQUA_DATA names no folder with the trace";
  Scenario scenario = small_scenario();
  scenario.model = must(load_model("llama-2-7b"));
  scenario.kv_tokens = 15'500;
  const Ground ground = must(resolve(scenario, {}));
  const Workload work = must(tiled(must(read_trace_file(path)), 8000, 4));
  std::map<std::string, FleetOutcome> by;
  for (const char* packer : {"pack", "wf", "lb"}) {
    FleetShape shape{.packer = packer, .spare = 4, .linger_s = 30};
    by[packer] = must(serve_fleet(ground, work, shape, {}));
  }
  for (const char* spread : {"wf", "lb"}) {
    EXPECT_LE(by["pack"].gpu_hours, 0.91 * by[spread].gpu_hours) << spread;
    EXPECT_GE(by["pack"].metrics.within_sla, by[spread].metrics.within_sla - 0.01) << spread;
  }
}

}  // namespace
}  // namespace aqua::sim::test
