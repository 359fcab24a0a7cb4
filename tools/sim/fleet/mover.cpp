// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/fleet/mover.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/sim/engine/accepted.hpp"

namespace aqua::sim {
namespace {

std::uint32_t request_of(const packing::Move& move) {
  return static_cast<std::uint32_t>(move.request);
}

}  // namespace

Mover::Mover(const Ground& ground, const FleetShape& shape, RequestTable& table,
             FleetEngines& engines, Network& network, Over over)
    : ground_(ground),
      shape_(shape),
      table_(table),
      engines_(engines),
      network_(network),
      over_(std::move(over)) {}

packing::Boundaries Mover::boundaries() const {
  const double epoch = shape_.epoch_s * shape_.link_share;
  const auto in_epoch = [&](double per_second) {
    return static_cast<std::uint64_t>(per_second * epoch);
  };
  const std::uint32_t chunk = ground_.cost.max_batch_tokens();
  const double token_s = seconds(ground_.cost.linear(chunk)) / chunk;
  packing::Boundaries all;
  for (std::size_t k = 0; k < engines_.size(); ++k) {
    all.engines[engine_id(k)] = {.server = packing::ServerId{engines_.server_of(k)},
                                 .bytes_in = in_epoch(ground_.nvlink.in_bytes_per_second),
                                 .bytes_out = in_epoch(ground_.nvlink.out_bytes_per_second),
                                 .prefill_tokens = static_cast<std::uint64_t>(
                                     shape_.epoch_s * shape_.compute_share / token_s)};
  }
  const std::uint64_t between = in_epoch(shape_.network_bytes_per_second);
  for (std::size_t server = 0; server < engines_.servers(); ++server) {
    all.servers[packing::ServerId{server}] = {.bytes_in = between, .bytes_out = between};
  }
  return all;
}

Mover::Under Mover::under(const Order& order, std::uint64_t plan) const {
  return {.order = order,
          .plan = plan,
          .from = place_of(order.move.from),
          .to = place_of(order.move.to)};
}

void Mover::begin(const packing::Plan& plan, Picos now) {
  if (plan.moves.empty()) return;
  const auto ways = accepted(packing::divide(plan.moves, boundaries(), shape_.moves));
  Run run{.number = plan.number, .orders = {}};
  std::vector<packing::Move> later;
  for (std::size_t i = 0; i < plan.moves.size(); ++i) {
    const packing::Move& move = plan.moves[i];
    if (shape_.free_moves) {
      run.orders.push_back({move, !move.dropped});
    } else if (ways[i] == packing::SendAs::later) {
      later.push_back(move);
    } else {
      run.orders.push_back({move, ways[i] == packing::SendAs::kv});
    }
  }
  counts_.later += later.size();
  for (const packing::Move& move : later) over_(move, plan.number, false);
  if (run.orders.empty()) return;
  runs_.push_back(std::move(run));
  for (const Order& order : std::vector<Order>(runs_.back().orders)) {
    if (!order.move.dropped) continue;
    const Under move = under(order, plan.number);
    moves_[request_of(order.move)] = move;
    engines_[move.from].send_away(request_of(order.move));
  }
  next_stage(runs_.back(), now);
}

void Mover::next_stage(Run& run, Picos now) {
  const std::size_t first = run.begun;
  const std::uint32_t stage = run.orders[first].move.stage;
  while (run.begun < run.orders.size() && run.orders[run.begun].move.stage == stage) ++run.begun;
  run.open = run.begun - first;
  const std::uint64_t number = run.number;
  const std::vector<Order> orders(run.orders.begin() + static_cast<std::ptrdiff_t>(first),
                                  run.orders.begin() + static_cast<std::ptrdiff_t>(run.begun));
  for (const Order& order : orders) {
    const std::uint32_t request = request_of(order.move);
    if (table_.outcomes[request].finish != kNever) {
      closed(number, now);
      continue;
    }
    const auto [entry, fresh] = moves_.try_emplace(request, under(order, number));
    entry->second.begun = true;
    proceed(request, now);
  }
}

void Mover::proceed(std::uint32_t request, Picos now) {
  Under& move = moves_.at(request);
  if (!move.begun || move.copying || !is_up_(move.to)) return;
  if (move.away) return deliver(request, now);
  if (move.order.move.dropped) return;  // leaves as soon as it can
  Engine& source = engines_[move.from];
  const auto status = source.scheduler().sequence(schedule::SequenceId{request});
  const bool there = status.ok() && status->state == schedule::SequenceState::resident &&
                     status->computed_tokens > 0;
  if (!move.order.as_kv || !there || shape_.free_moves) return source.send_away(request);
  // Also for what it computes while it is copied.
  constexpr std::uint32_t kGrowth = 64;
  const std::uint32_t block = ground_.scenario.server.kv_block_tokens;
  const std::uint32_t blocks = (status->computed_tokens + kGrowth + block - 1) / block;
  if (!engines_[move.to].reserve(blocks)) {
    ++counts_.later;
    return end(request, false, now);
  }
  move.reserved = blocks;
  copy(request, move, status->computed_tokens, now);
}

void Mover::copy(std::uint32_t request, Under& move, std::uint32_t until, Picos now) {
  const double bytes = (until - move.sent) * ground_.kv_bytes_per_token;
  move.copying = true;
  move.sent = until;
  counts_.bytes += bytes;
  flows_[network_.start(engines_.transfer(move.from, move.to, bytes), now, this)] = request;
}

void Mover::flow_ended(FlowId flow, Picos now) {
  const auto found = flows_.find(flow);
  if (found == flows_.end()) return;  // its request has ended
  const std::uint32_t request = found->second;
  flows_.erase(found);
  Under& move = moves_.at(request);
  move.copying = false;
  if (move.away) return deliver(request, now);
  engines_[move.from].send_away(request);
}

bool Mover::left(std::uint32_t request, Picos now) {
  const auto found = moves_.find(request);
  if (found == moves_.end()) return false;
  Under& move = found->second;
  std::uint32_t& kv_tokens = table_.progress[request].delivered;
  move.away = true;
  // It may have been swapped out or dropped while it was copied.
  if (shape_.free_moves && move.order.as_kv) {
    move.sent = kv_tokens;
  } else if (move.sent == 0 || kv_tokens < move.sent) {
    kv_tokens = move.sent = 0;
  }
  if (kv_tokens > move.sent) {
    copy(request, move, kv_tokens, now);
  } else {
    proceed(request, now);
  }
  return true;
}

void Mover::deliver(std::uint32_t request, Picos now) {
  Under& move = moves_.at(request);
  ++(move.sent > 0 ? counts_.kv : counts_.tokens);
  engines_[move.to].submit_delivered(request, std::exchange(move.reserved, 0));
  end(request, true, now);
}

void Mover::end(std::uint32_t request, bool done, Picos now) {
  const Under move = moves_.at(request);
  moves_.erase(request);
  if (move.reserved > 0) engines_[move.to].unreserve(move.reserved);
  over_(move.order.move, move.plan, done);
  closed(move.plan, now);
}

void Mover::ended(std::uint32_t request, Picos now) {
  const auto found = moves_.find(request);
  if (found == moves_.end()) return;
  const Under move = found->second;
  moves_.erase(found);
  std::erase_if(flows_, [&](const auto& flow) { return flow.second == request; });
  if (move.reserved > 0) engines_[move.to].unreserve(move.reserved);
  if (move.begun) closed(move.plan, now);
}

void Mover::came_up(std::size_t engine, Picos now) {
  std::vector<std::uint32_t> waiting;
  for (const auto& [request, move] : moves_) {
    if (move.to == engine) waiting.push_back(request);
  }
  for (const std::uint32_t request : waiting) {
    if (moves_.contains(request)) proceed(request, now);
  }
}

// One move of the stage that runs is over.
void Mover::closed(std::uint64_t plan, Picos now) {
  const auto run = std::ranges::find_if(runs_, [&](const Run& one) { return one.number == plan; });
  if (--run->open > 0) return;
  if (run->begun < run->orders.size()) return next_stage(*run, now);
  runs_.erase(run);
}

}  // namespace aqua::sim
