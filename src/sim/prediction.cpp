#include "sim/prediction.hpp"

#include "aqua/policy/scheduler.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "sim/engine.hpp"
#include "sim/world.hpp"

namespace aqua::sim {

Result<Prediction> predict(const CostFit& costs, const Recording& recording) {
  AQUA_ASSIGN(const auto scheduler, policy::make_scheduler(recording.policy, recording.scheduler));
  const CostModel cost = CostModel::fitted(costs, recording.scheduler.budget_tokens);
  const Workload workload = recording.workload();
  Network network;
  SwapSpace swap(nullptr);
  const EngineOptions options{
      .paging = {.method = CopyMethod::stopping, .stop_out = costs.out, .stop_in = costs.in},
      .kv_bytes_per_token = recording.kv_bytes_per_token,
      .block_tokens = recording.scheduler.block_tokens};
  Engine engine(workload, cost, *scheduler, swap, network, nullptr, options);
  if (!run_world(network, {&engine}, {})) {
    return Error{Code::internal,
                 concat(recording.policy, ": ", workload.requests.size() - engine.ended(),
                        " requests wait for ever")};
  }
  return Prediction{.measured = measure(recording.outcome(), {}),
                    .predicted = measure(std::move(engine).outcome(), {})};
}

}  // namespace aqua::sim
