// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/cost/prediction.hpp"

#include "aqua/schedule/scheduler.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/engine/arrivals.hpp"
#include "tools/sim/engine/engine.hpp"
#include "tools/sim/engine/world.hpp"

namespace aqua::sim {
namespace {

Result<Metrics> play(const CostFit& costs, const Recording& recording) {
  AQUA_ASSIGN(const auto scheduler,
              schedule::make_scheduler(recording.policy, recording.scheduler));
  const CostModel cost = CostModel::fitted(costs, recording.scheduler.budget_tokens);
  const Workload workload = recording.workload();
  Network network;
  SwapSpace swap(nullptr);
  const EngineOptions options{
      .paging = {.method = PagingMethod::stopping, .stop_out = costs.out, .stop_in = costs.in},
      .kv_bytes_per_token = recording.kv_bytes_per_token,
      .block_tokens = recording.scheduler.block_tokens};
  RequestTable table(workload);
  Engine engine(table, cost, *scheduler, swap, network, nullptr, options);
  Arrivals arrivals(workload, engine);
  if (!run_world(network, {&arrivals, &engine})) {
    return Error{Code::internal,
                 concat(recording.policy, ": ", workload.requests.size() - engine.ended(),
                        " requests wait for ever")};
  }
  return measure(std::move(engine).outcome(), {});
}

}  // namespace

double sensitivity(const Prediction& prediction, double Metrics::*figure) {
  const double said = prediction.predicted.*figure;
  const double change = prediction.slower.*figure - prediction.faster.*figure;
  return said > 0 ? change / said / (2 * kNudge) : 0;
}

Result<Prediction> predict(const CostFit& costs, const Recording& recording) {
  Prediction all{.measured = measure(recording.outcome(), {})};
  AQUA_ASSIGN(all.predicted, play(costs, recording));
  AQUA_ASSIGN(all.slower, play(costs.slower(1 + kNudge), recording));
  AQUA_ASSIGN(all.faster, play(costs.slower(1 - kNudge), recording));
  return all;
}

}  // namespace aqua::sim
