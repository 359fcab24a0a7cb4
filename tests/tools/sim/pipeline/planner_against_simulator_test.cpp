// SPDX-License-Identifier: Apache-2.0
// The planner against simulating every split that it thinks fits: what it plans never runs out of
// memory, and none of the others is faster by more than 2 %. Requests are equal and nothing takes
// time between machines, as the planner assumes. docs/plan/pipelines.md has more sizes.
#include <ostream>
#include <string>
#include <utility>

#include "tests/tools/sim/ground.hpp"
#include "tests/tools/sim/pipeline/equal_requests.hpp"
#include "tools/sim/pipeline/planning.hpp"

namespace aqua::sim::test {
namespace {

constexpr std::size_t kPlanned = 4096;  // few of them fill and drain the pipelines

struct Machines {
  const char *model, *server;
  friend void PrintTo(const Machines& machines, std::ostream* out) {
    *out << machines.model << " on " << machines.server;
  }
};

class PlannerAgainstSimulator : public ::testing::TestWithParam<Machines> {};

TEST_P(PlannerAgainstSimulator, NoSplitIsFasterThanThePlanByMoreThanTwoPercent) {
  const MachineGround ground = must(
      machine_ground(must(load_model(GetParam().model)), must(load_server(GetParam().server)), {}));
  const ModelledCost cost(ground.cost);
  std::size_t cases = 0, splits = 0;
  for (const auto& [prompt, output] : {std::pair{1000U, 200U}, {250U, 400U}, {1700U, 60U}}) {
    const auto requests = alike(kPlanned, prompt, output);
    for (const std::uint32_t machines : {2U, 4U, 6U}) {
      SCOPED_TRACE(::testing::Message()
                   << machines << " machines, " << prompt << " and " << output);
      auto input = plan_input(ground, lengths_of(requests), machines, {1, 2, 4, 8, 16, 32});
      input.stream_overhead = 1.05;
      for (auto& microbatch : input.microbatches) microbatch.stream_seconds = 0;
      const auto every = kv_stream::explain(input).value();
      const auto makespan_of = [&](const kv_stream::Split& split) {
        PipelineShape shape = shape_of(ground, input, split);
        shape.links.reset();
        ++splits;
        return seconds(must_serve(shape, cost, requests).makespan);
      };
      if (!every.front().fits) continue;
      ++cases;
      const double planned = makespan_of(every.front());
      EXPECT_NEAR(planned / kPlanned / every.front().seconds_per_request, 1, 0.1);
      for (const kv_stream::Split& split : every) {
        if (!split.fits || &split == &every.front()) continue;
        EXPECT_LE(planned, 1.02 * makespan_of(split)) << kv_stream::describe(split);
      }
    }
  }
  EXPECT_GE(cases, 6U);
  EXPECT_GE(splits, 60U);
}

INSTANTIATE_TEST_SUITE_P(OfFourKinds, PlannerAgainstSimulator,
                         ::testing::Values(Machines{"opt-66b", "a100x2"},
                                           Machines{"opt-66b", "a100x4"},
                                           Machines{"opt-30b", "v100x4"},
                                           Machines{"bloom-176b", "h100x4"}),
                         [](const auto& each) { return std::string(each.param.server); });

}  // namespace
}  // namespace aqua::sim::test
