// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/fleet/fleet.hpp"

#include <algorithm>
#include <utility>

#include "tools/sim/engine/accepted.hpp"

namespace aqua::sim {
namespace {

packing::RequestId request_id(std::uint32_t request) {
  return packing::RequestId{request};
}

}  // namespace

Fleet::Fleet(const Ground& ground, const FleetShape& shape, RequestTable& table,
             packing::Packer& packer, FleetEngines& engines, Mover& mover, SlabMarket* market,
             FleetOutcome& outcome)
    : ground_(ground),
      shape_(shape),
      table_(table),
      packer_(packer),
      engines_(engines),
      mover_(mover),
      market_(market),
      outcome_(outcome),
      power_(shape.engines, power_rules()),
      rows_(table.outcomes.size()),
      pending_(shape.engines),
      told_costs_(shape.engines),
      tick_(picos(shape.epoch_s)) {
  for (std::size_t engine = 0; engine < engines_.size(); ++engine) join(engine);
  for (std::size_t engine = 0; lent_ && engine < engines_.size(); ++engine) {
    if (power_.state(engine) == Power::State::off) lent_->lend(engine, 0);
  }
  mover_.set_is_up([this](std::size_t engine) { return power_.state(engine) == Power::State::up; });
  close_when_done();
}

void Fleet::close_when_done() {
  for (std::size_t engine = 0; done() && engine < engines_.size(); ++engine) {
    engines_[engine].close();
  }
}

Power::Rules Fleet::power_rules() {
  Power::Rules rules{.spare = shape_.spare,
                     .fixed = shape_.fixed,
                     .boot = picos(shape_.boot_s),
                     .linger = picos(shape_.linger_s)};
  if (market_ == nullptr) return rules;
  const auto changed = [this](Picos now) {
    for (std::size_t engine = 0; engine < engines_.size(); ++engine) {
      engines_[engine].rebalance(now);
    }
  };
  lent_.emplace(*market_, ground_.kv_tokens * ground_.kv_bytes_per_token, changed,
                [this](std::size_t engine, Picos now) { power_.ready(engine, now); });
  rules.turned = [this](std::size_t engine, bool on, Picos now) {
    if (on) {
      lent_->take_back(engine, now);
    } else {
      lent_->lend(engine, now);
    }
  };
  return rules;
}

// What is up costs nothing to wake, and what boots already less than what is off.
double Fleet::wake_cost(std::size_t engine) const {
  constexpr double kCost[] = {2, 1, 0};  // by Power::State
  return kCost[static_cast<std::size_t>(power_.state(engine))];
}

void Fleet::join(std::size_t engine) {
  told_costs_[engine] = wake_cost(engine);
  accepted(packer_.join({.id = engine_id(engine),
                         .kv_tokens = static_cast<std::uint64_t>(ground_.kv_tokens),
                         .server = packing::ServerId{engines_.server_of(engine)},
                         .wake_cost = told_costs_[engine]}));
}

// A packer takes what waking costs when an engine joins: those that sleep leave and join again.
void Fleet::tell_costs() {
  for (std::size_t engine = 0; engine < engines_.size(); ++engine) {
    if (told_costs_[engine] == wake_cost(engine) || used(engine)) continue;
    accepted(packer_.gone(engine_id(engine)));
    join(engine);
  }
}

bool Fleet::used(std::size_t engine) const {
  return accepted(packer_.engine(engine_id(engine))).state != packing::EngineState::asleep;
}

Picos Fleet::next() const {
  if (done()) return kNever;
  Picos at = std::min(tick_, power_.next());
  if (came_ < rows_.size()) at = std::min(at, table_.outcomes[came_].arrival);
  return at;
}

void Fleet::act(Picos now, Picos /*horizon*/) {
  for (const std::size_t engine : power_.come_up(now)) {
    for (const std::uint32_t request : std::exchange(pending_[engine], {})) send(request, engine);
    mover_.came_up(engine, now);
  }
  tell_costs();
  for (; came_ < rows_.size() && table_.outcomes[came_].arrival <= now; ++came_) {
    arrive(static_cast<std::uint32_t>(came_), now);
  }
  if (now >= tick_) epoch(now);
  settle_power(now);
  close_when_done();
}

void Fleet::arrive(std::uint32_t request, Picos now) {
  const RequestOutcome& is = table_.outcomes[request];
  // With its answer it must fit into what packers fill of an engine, or it might wait for ever.
  const double room = ground_.kv_tokens * (1 - shape_.options.watermark);
  const bool fits =
      is.prompt_tokens + is.output_tokens + ground_.scenario.server.kv_block_tokens <= room;
  const auto placed = fits ? packer_.arrive({.id = request_id(request),
                                             .tokens = is.prompt_tokens,
                                             .max_new = is.output_tokens})
                           : Result<packing::Placement>(Error{Code::resource_exhausted, ""});
  if (!placed.ok()) {
    one_is_over(now);  // refused
    return;
  }
  live_.insert(request);
  rows_[request].told = is.prompt_tokens;
  if (placed->engine == packing::no_engine) return;
  settle_power(now);
  send(request, place_of(placed->engine));
}

void Fleet::send(std::uint32_t request, std::size_t engine) {
  Row& row = rows_[request];
  row.engine = engine;
  if (row.leaves) return;  // then it is sent there
  row.sent = power_.state(engine) == Power::State::up;
  if (row.sent) {
    engines_[engine].submit(request);
  } else {
    pending_[engine].push_back(request);
  }
}

void Fleet::one_is_over(Picos now) {
  ++over_;
  last_ = now;
}

void Fleet::ended(std::uint32_t request, Picos now) {
  one_is_over(now);
  live_.erase(request);
  if (std::exchange(rows_[request].leaves, false)) --leaving_;
  mover_.ended(request, now);
  accepted(packer_.ended(request_id(request)));
  close_when_done();
}

void Fleet::epoch(Picos now) {
  tick_ += picos(shape_.epoch_s);
  ++epochs_;
  tell_growth();
  carry_out(packer_.epoch(), now);
  sample(now);
}

void Fleet::tell_growth() {
  constexpr std::uint32_t kFirstPace = 16;  // tokens, of one that has just begun
  for (const std::uint32_t request : live_) {
    Row& row = rows_[request];
    const std::uint32_t generated = table_.progress[request].generated;
    const std::uint32_t pace = generated - std::exchange(row.generated, generated);
    const std::uint32_t more = row.engine == kNowhere ? 0 : std::max(pace, kFirstPace);
    const std::uint32_t left = table_.outcomes[request].output_tokens - generated;
    const std::uint64_t tokens = table_.known_tokens(request) + std::min(more, left);
    if (tokens <= row.told) continue;
    accepted(packer_.grew(request_id(request), tokens));
    row.told = tokens;
  }
}

void Fleet::preempt(std::uint32_t request) {
  Row& row = rows_[request];
  const std::size_t engine = std::exchange(row.engine, kNowhere);
  ++outcome_.preempted;
  if (std::exchange(row.sent, false)) {
    row.leaves = true;
    ++leaving_;
    engines_[engine].send_away(request);
  } else {
    std::erase(pending_[engine], request);
  }
}

void Fleet::carry_out(packing::Plan plan, Picos now) {
  for (const packing::Preemption& order : plan.preemptions) {
    preempt(static_cast<std::uint32_t>(order.request));
  }
  settle_power(now);
  // What waits for an engine to boot has nothing to be moved.
  std::erase_if(plan.moves, [&](const packing::Move& move) {
    const auto request = static_cast<std::uint32_t>(move.request);
    if (rows_[request].sent) return false;
    std::erase(pending_[place_of(move.from)], request);
    accepted(packer_.moved(move.request, plan.number));
    send(request, place_of(move.to));
    return true;
  });
  mover_.begin(plan, now);
  for (const packing::Placement& placement : plan.placements) {
    const auto request = static_cast<std::uint32_t>(placement.request);
    send(request, place_of(placement.engine));
  }
  if (!shape_.keep_placements) return;
  for (const std::uint32_t request : live_) {
    const Row& row = rows_[request];
    if (row.engine == kNowhere) continue;
    outcome_.placements.push_back(
        {epochs_, request, static_cast<std::uint32_t>(row.engine), table_.known_tokens(request)});
  }
}

void Fleet::left(std::uint32_t request, Picos now) {
  if (mover_.left(request, now)) return;
  table_.progress[request].delivered = 0;  // preempted
  Row& row = rows_[request];
  row.leaves = false;
  --leaving_;
  if (row.engine != kNowhere) send(request, row.engine);  // and placed since
}

void Fleet::move_over(const packing::Move& move, std::uint64_t plan, bool done) {
  accepted(done ? packer_.moved(move.request, plan) : packer_.failed(move.request, plan));
  const auto request = static_cast<std::uint32_t>(move.request);
  if (done) {
    rows_[request].engine = place_of(move.to);
    ++table_.outcomes[request].moves;
  } else if (move.dropped) {
    preempt(request);  // the packer takes its KV for gone
  }
}

void Fleet::settle_power(Picos now) {
  power_.settle([this](std::size_t engine) { return used(engine); }, now);
  tell_costs();
}

void Fleet::sample(Picos now) {
  FleetSample sample{.at = now, .up = static_cast<std::uint32_t>(power_.powered())};
  for (std::size_t engine = 0; engine < engines_.size(); ++engine) {
    sample.used += used(engine) ? 1U : 0U;
    const schedule::SchedulerStatus status = engines_[engine].scheduler().status();
    const std::uint64_t blocks = status.device_blocks_held;
    sample.held_tokens += static_cast<double>(blocks * ground_.scenario.server.kv_block_tokens);
    sample.waiting += status.waiting;
    sample.resident += status.resident;
  }
  if (market_ != nullptr) {
    sample.lent_bytes = market_->lent_bytes();
    sample.borrowed_bytes = market_->leased_bytes();
  }
  outcome_.series.push_back(sample);
}

}  // namespace aqua::sim
