// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/fleet/serve_fleet.hpp"

#include <algorithm>
#include <optional>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/engine/world.hpp"
#include "tools/sim/fleet/fleet.hpp"

namespace aqua::sim {
namespace {

void add(Totals& sum, const Totals& one) {
  sum.iterations += one.iterations;
  sum.decisions += one.decisions;
  sum.prefill_tokens += one.prefill_tokens;
  sum.decode_tokens += one.decode_tokens;
  sum.recomputed_tokens += one.recomputed_tokens;
  sum.output_tokens += one.output_tokens;
  sum.swaps_out += one.swaps_out;
  sum.swaps_in += one.swaps_in;
  sum.recomputes += one.recomputes;
  sum.bytes_out += one.bytes_out;
  sum.bytes_in += one.bytes_in;
  sum.busy += one.busy;
  sum.stretched += one.stretched;
}

// Means over the epochs from a tenth of the time in which requests came until the last came.
void average(FleetOutcome& outcome, Picos last_arrival, double kv_tokens, double epoch_s) {
  double epochs = 0, used = 0, held = 0;
  for (const FleetSample& sample : outcome.series) {
    outcome.lent_gb_hours += sample.lent_bytes / 1e9 * epoch_s / 3600;
    outcome.borrowed_gb_hours += sample.borrowed_bytes / 1e9 * epoch_s / 3600;
    if (sample.at < last_arrival / 10 || sample.at > last_arrival) continue;
    epochs += 1;
    used += sample.used;
    held += sample.held_tokens;
    outcome.mean_resident += static_cast<double>(sample.resident);
  }
  if (epochs == 0) return;
  outcome.mean_used = used / epochs;
  outcome.mean_resident /= epochs;
  outcome.utilization = used > 0 ? held / (used * kv_tokens) : 0;
}

}  // namespace

Result<FleetOutcome> serve_fleet(const Ground& ground, const Workload& workload,
                                 const FleetShape& shape, const Sla& sla,
                                 const std::function<void(std::size_t)>& observe) {
  if (shape.engines == 0 || shape.engines_per_server == 0) {
    return Error{Code::invalid_argument, "a fleet needs an engine, and a server one as well"};
  }
  packing::PackerOptions options = shape.options;
  options.block_tokens = ground.scenario.server.kv_block_tokens;
  options.bytes_per_token =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(ground.kv_bytes_per_token));
  AQUA_ASSIGN(const auto packer, packing::make_packer(shape.packer, options));

  FleetOutcome outcome;
  Network network;
  RequestTable table(workload);
  std::unique_ptr<Fleet> fleet;
  std::unique_ptr<Mover> mover;
  std::optional<SlabMarket> market;
  if (shape.lend) {
    market.emplace(ground.scenario.slab_bytes, ground.cost.roof().bytes_per_second, shape.engines);
  }
  SlabMarket* const lent = market ? &*market : nullptr;
  EngineOptions options_of_each;
  options_of_each.ended = [&](std::uint32_t request, Picos now) { fleet->ended(request, now); };
  options_of_each.left = [&](std::uint32_t request, Picos now) { fleet->left(request, now); };
  options_of_each.may_skip = [&] { return fleet->settled(); };
  AQUA_ASSIGN(const auto engines,
              FleetEngines::create(ground, shape, table, network, lent, options_of_each));
  mover = std::make_unique<Mover>(ground, shape, table, *engines, network,
                                  [&](const packing::Move& move, std::uint64_t plan, bool done) {
                                    fleet->move_over(move, plan, done);
                                  });
  fleet = std::make_unique<Fleet>(ground, shape, table, *packer, *engines, *mover, lent, outcome);
  std::vector<Actor*> actors{fleet.get(), mover.get()};
  if (lent != nullptr) actors.push_back(fleet->lent());
  for (std::size_t k = 0; k < engines->size(); ++k) actors.push_back(&(*engines)[k]);
  const auto progress = [&](Picos) {
    if (observe) observe(fleet->over());
  };
  if (!run_world(network, actors, progress)) {
    return Error{Code::internal, concat(shape.packer, ": ", table.outcomes.size() - fleet->over(),
                                        " requests wait for ever")};
  }
  for (std::size_t k = 0; k < engines->size(); ++k) add(outcome.run.totals, (*engines)[k].totals());
  Picos finish = 0;
  for (const RequestOutcome& request : table.outcomes) {
    if (!request.refused()) finish = std::max(finish, request.finish);
  }
  const Picos first = table.outcomes.empty() ? 0 : table.outcomes.front().arrival;
  outcome.run.makespan = finish - std::min(finish, first);
  outcome.gpu_hours =
      fleet->power().engine_seconds(fleet->last()) * ground.scenario.tensor_parallel / 3600;
  outcome.boots = fleet->power().boots();
  const Mover::Counts& moved = mover->counts();
  outcome.moves_kv = moved.kv;
  outcome.moves_tokens = moved.tokens;
  outcome.moves_later = moved.later;
  outcome.bytes_moved = moved.bytes;
  if (!table.outcomes.empty()) {
    average(outcome, table.outcomes.back().arrival, ground.kv_tokens, shape.epoch_s);
  }
  outcome.run.requests = std::move(table.outcomes);
  outcome.metrics = measure(outcome.run, sla);
  std::vector<double> still;
  for (const RequestOutcome& request : outcome.run.requests) {
    if (!request.refused() && request.moves == 0) still.push_back(request.tpot());
  }
  outcome.still_tpot_p99_s = quantile(still, 0.99);
  return outcome;
}

}  // namespace aqua::sim
