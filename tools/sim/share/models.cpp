// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/share/models.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/engine/arrivals.hpp"
#include "tools/sim/engine/engine.hpp"
#include "tools/sim/engine/random.hpp"
#include "tools/sim/engine/world.hpp"

namespace aqua::sim {
namespace {

// Parts of all requests that ask for each model, in the first half.
std::vector<double> popularity(const ModelsShape& shape) {
  std::vector<double> parts;
  for (unsigned i = 0; i < shape.models; ++i) parts.push_back(std::pow(i + 1, -shape.skew));
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  for (double& part : parts) part /= sum;
  return parts;
}

Workload requests_for(const Trace& trace, const ModelsShape& shape, unsigned model,
                      std::uint64_t seed) {
  const std::vector<double> parts = popularity(shape);
  Random random(seed * 1000 + model);
  std::size_t at = random.below(trace.requests.size());
  Workload work;
  const double half = shape.seconds / 2;
  for (double now = 0;;) {
    const bool first_half = now < half;
    const double rate =
        shape.per_second * (first_half ? parts[model] : parts[shape.models - 1 - model]);
    const double next = now + random.exponential(1 / rate);
    if (first_half && next >= half) {  // with the other rate the time to the next is drawn anew
      now = half;
      continue;
    }
    now = next;
    if (now >= shape.seconds) return work;
    TraceRequest request = trace.requests[at++ % trace.requests.size()];
    request.arrival = picos(now);
    request.hash_begin = request.hash_count = 0;
    work.requests.push_back(request);
  }
}

// One model's engine, with what it needs.
struct ModelEngine {
  Workload workload;
  std::unique_ptr<schedule::Scheduler> scheduler;
  SwapSpace swap{nullptr};
  std::unique_ptr<RequestTable> table{};
  std::unique_ptr<Engine> engine{};
  std::unique_ptr<Arrivals> arrivals{};
};

// Measures what is asked of each engine, and divides the GPU by it.
class Divider final : public Actor {
 public:
  Divider(const Ground& ground, const ModelsShape& shape, SharedGpu& gpu,
          std::vector<ModelEngine>& engines, sharing::SmShares shares)
      : shape_(shape),
        gpu_(gpu),
        engines_(engines),
        shares_(std::move(shares)),
        block_bytes_(ground.kv_bytes_per_token * ground.scenario.server.kv_block_tokens),
        token_seconds_(seconds(ground.cost.linear(ground.cost.max_batch_tokens())) /
                       ground.cost.max_batch_tokens()),
        busy_(engines.size()),
        tick_(picos(shape.rebalance_s)) {
    for (const ModelEngine& one : engines_) {
      for (const TraceRequest& request : one.workload.requests) {
        const double tokens = request.prompt_tokens + request.output_tokens;
        largest_blocks_ =
            std::max(largest_blocks_, std::ceil(tokens / ground.scenario.server.kv_block_tokens));
      }
    }
    give_blocks();
  }

  // Never, once the engines have waited in vain for what it may give them.
  [[nodiscard]] Picos next() const override { return idle_ticks_ > 2 * kWindow ? kNever : tick_; }
  void act(Picos now, Picos /*horizon*/) override {
    if (now < tick_) return;
    tick_ += picos(shape_.rebalance_s);
    const bool idle = std::ranges::all_of(
        engines_, [](const ModelEngine& one) { return one.engine->next() == kNever; });
    idle_ticks_ = idle ? idle_ticks_ + 1 : 0;
    std::vector<sharing::EngineLoad> loads;
    for (std::size_t i = 0; i < engines_.size(); ++i) loads.push_back(measure(i));
    if (const auto changed = shares_.decide(loads); !changed.ok() || !*changed) return;
    ++changes_;
    gpu_.set_shares(shares_);
    give_blocks();
  }
  void flow_ended(FlowId /*flow*/, Picos /*now*/) override {}
  [[nodiscard]] bool done() const override { return true; }  // ends with the others
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

 private:
  static constexpr std::size_t kWindow = 10;

  [[nodiscard]] sharing::EngineLoad measure(std::size_t i) {
    Engine& engine = *engines_[i].engine;
    busy_[i].push_back(gpu_.take_busy(i));
    if (busy_[i].size() > kWindow) busy_[i].pop_front();
    SharedGpu::Busy sum;
    for (const SharedGpu::Busy& one : busy_[i]) {
      sum.prefill += one.prefill;
      sum.decode += one.decode;
    }
    const double window = static_cast<double>(busy_[i].size()) * shape_.rebalance_s;
    // Prompts that wait are asked for, too.
    const std::vector<TraceRequest>& requests = engines_[i].workload.requests;
    const std::size_t waiting = engine.scheduler().status().waiting;
    for (std::size_t k = 0; k < std::min(waiting, engine.arrived()); ++k) {
      sum.prefill += requests[engine.arrived() - 1 - k].prompt_tokens * token_seconds_;
    }
    return {.phases = {{sum.prefill / window, shape_.profile.prefill.speed},
                       {sum.decode / window, shape_.profile.decode.speed, false}},
            .kv_blocks = std::max(engine.kv_bytes_wanted() / block_bytes_, largest_blocks_)};
  }
  void give_blocks() {
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      engines_[i].engine->set_device_blocks(shares_.shares()[i].kv_blocks);
    }
  }

  const ModelsShape shape_;
  SharedGpu& gpu_;
  std::vector<ModelEngine>& engines_;
  sharing::SmShares shares_;
  const double block_bytes_;
  const double token_seconds_;  // of a prompt, computed with the whole GPU
  std::vector<std::deque<SharedGpu::Busy>> busy_;
  // The blocks of the largest request with its answer: an engine knows what it accepts at most, and
  // it is to fit.
  double largest_blocks_ = 0;
  Picos tick_;
  std::size_t idle_ticks_ = 0;  // in a row, in which no engine had anything to do
  std::uint64_t changes_ = 0;
};

// KV blocks of all models together.
Result<std::uint32_t> blocks_of(const Ground& ground, const ModelsShape& shape) {
  const Scenario& scenario = ground.scenario;
  const double block = ground.kv_bytes_per_token * scenario.server.kv_block_tokens;
  const double weights = scenario.model.weight_bytes() / scenario.tensor_parallel;
  double room =
      scenario.server.gpu.memory_bytes * scenario.server.usable_memory - weights * shape.models;
  if (scenario.kv_tokens) room = *scenario.kv_tokens * ground.kv_bytes_per_token;
  const double blocks = std::floor(room / block);
  if (blocks < 16.0 * shape.models) {
    return Error{Code::failed_precondition,
                 concat(shape.models, " models of ", scenario.model.name,
                        " leave no room for their KV cache on ", scenario.server.gpu.name)};
  }
  return static_cast<std::uint32_t>(blocks);
}

}  // namespace

std::vector<WayToShare> ways_to_share(const ModelsShape& shape) {
  const std::vector<double> equal(shape.models, 1.0 / shape.models);
  constexpr double kLeastPart = 0.05;  // of the GPU, for a model that hardly anybody asks for
  std::vector<double> popular = popularity(shape);
  for (double& part : popular) part = kLeastPart + (1 - kLeastPart * shape.models) * part;
  return {{"temporal", GpuSharing::temporal, equal},
          {"fixed", GpuSharing::fixed, equal},
          {"fixed by popularity", GpuSharing::fixed, popular},
          {"by load", GpuSharing::by_load, equal}};
}

Result<ModelsOutcome> share_gpu(const Ground& ground, const Trace& trace, const ModelsShape& shape,
                                const WayToShare& way, const Sla& sla, std::uint64_t seed) {
  AQUA_ASSIGN(const std::uint32_t blocks, blocks_of(ground, shape));
  AQUA_ASSIGN(const auto policies, parse_policies("fcfs"));
  schedule::SchedulerOptions options = scheduler_options(ground, policies.front());
  options.device_blocks = blocks / shape.models;
  Network network;
  SharedGpu gpu(way.how, way.shares, shape.profile);
  const PortLinks links = add_gpu(network, "engines", ground);
  std::vector<ModelEngine> engines(shape.models);
  std::vector<Actor*> actors;
  for (unsigned i = 0; i < shape.models; ++i) {
    ModelEngine& one = engines[i];
    one.workload = requests_for(trace, shape, i, seed);
    AQUA_ASSIGN(one.scheduler, schedule::make_scheduler("fcfs", options));
    one.table = std::make_unique<RequestTable>(one.workload);
    one.engine = std::make_unique<Engine>(
        *one.table, ground.cost, *one.scheduler, one.swap, network, nullptr,
        EngineOptions{.paging = paging_of(ground, policies.front().method, links, links),
                      .kv_bytes_per_token = ground.kv_bytes_per_token,
                      .block_tokens = ground.scenario.server.kv_block_tokens,
                      .gpu = &gpu.of(i)});
    one.arrivals = std::make_unique<Arrivals>(one.workload, *one.engine);
    actors.insert(actors.end(), {one.arrivals.get(), one.engine.get()});
  }
  AQUA_ASSIGN(sharing::SmShares shares,
              sharing::SmShares::create(shape.models, {.kv_blocks = blocks}));
  std::optional<Divider> divider;
  if (way.how == GpuSharing::by_load) {
    divider.emplace(ground, shape, gpu, engines, std::move(shares));
    actors.push_back(&*divider);
  }
  if (!run_world(network, actors)) return Error{Code::internal, "requests wait for ever"};
  ModelsOutcome all;
  double within = 0;
  for (ModelEngine& one : engines) {
    all.models.push_back(measure(std::move(*one.engine).outcome(), sla));
    const auto count = static_cast<double>(one.workload.requests.size());
    within += all.models.back().within_sla * count;
    all.requests += one.workload.requests.size();
  }
  all.within_sla = within / static_cast<double>(std::max<std::uint64_t>(all.requests, 1));
  if (divider) all.changes = divider->changes();
  return all;
}

}  // namespace aqua::sim
