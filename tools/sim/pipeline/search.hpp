// SPDX-License-Identifier: Apache-2.0
// The split of a policy that serves a load best, found by simulating: the number of pipelines,
// their depths, and the requests of their microbatches.
//
// Splits that fit by the planner's account are played without links first, each only as long as it
// may be one of the best few; where KV crosses the network it takes at least the planner's time.
// The best few are played with links.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/kv_stream/plan.hpp"
#include "aqua/result.hpp"
#include "tools/sim/pipeline/outcome.hpp"
#include "tools/sim/pipeline/planning.hpp"

namespace aqua::sim {

// colocated, colocated+dp, disaggregated, disaggregated+dp; the first two also with +chunked:
// prompts go in chunks with the tokens of others, and whoever ends is replaced at once.
struct PipelinePolicy {
  std::string name{};
  kv_stream::Policy split{};
  bool chunked = false;
};
// By commas, each once. invalid_argument lists the names.
[[nodiscard]] Result<std::vector<PipelinePolicy>> parse_pipeline_policies(std::string_view names);

struct PipelineQuestion {
  const MachineGround& ground;
  const PassCost& cost;
  const Trace& trace;
  kv_stream::PlanInput input{};
  PipelineLoad load{};
  Ending ending = Ending::together;
  std::uint32_t chunk_tokens = 512;  // of +chunked
  bool all_machines = false;         // splits that leave none over, as the paper has them
  bool links = true;
  bool skip = true;  // PipelineShape::skip
  bool timeline = false;
  std::vector<Outage> outages{};  // by time; only splits that have these stages
  // The mean time between failures of each machine, by chance; the seed of a run is also that of
  // its failures. 0: none.
  double outage_mean_seconds = 0;
  Recovery recovery = Recovery::scratch;
  RecoveryTimes recovery_times{};
};

struct BestPipelines {
  kv_stream::Split split{};
  PipelineOutcome outcome{};
  std::size_t played = 0;  // splits
};

// The shortest makespan where all requests come at once, else the least median latency a token.
// resource_exhausted: no split of the policy fits, has the stages that fail, and comes to an end.
[[nodiscard]] Result<BestPipelines> find_best(const PipelineQuestion& question,
                                              const PipelinePolicy& policy, std::uint64_t seed);

// The split once more, with another seed.
[[nodiscard]] Result<PipelineOutcome> play_split(const PipelineQuestion& question,
                                                 const PipelinePolicy& policy,
                                                 const kv_stream::Split& split, std::uint64_t seed);

// A request's latency by its tokens: the value that a share `q` of the requests does not exceed.
[[nodiscard]] double normalised_latency(const PipelineOutcome& outcome, double q);

}  // namespace aqua::sim
