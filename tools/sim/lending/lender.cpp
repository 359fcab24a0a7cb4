// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/lending/lender.hpp"

#include <algorithm>
#include <cmath>

namespace aqua::sim {
namespace {

constexpr std::size_t kRateOver = 10;  // seconds

}  // namespace

Lender::Lender(Engine& engine, SlabMarket& market, const ProducerPolicy& policy, double block_bytes,
               std::function<void(Picos)> changed)
    : engine_(engine),
      market_(market),
      policy_(policy),
      block_bytes_(block_bytes),
      all_blocks_(engine.scheduler().status().device_blocks),
      changed_(std::move(changed)) {}

Picos Lender::next() const {
  return std::min(tick_, market_.next_change());
}

void Lender::act(Picos now, Picos /*horizon*/) {
  if (market_.next_change() <= now) {
    market_.advance(now);
    resize();
    changed_(now);
  }
  if (now < tick_) return;
  tick_ += kPicosPerSecond;
  report(now);
}

void Lender::report(Picos now) {
  market_.advance(now);
  arrived_.push_back(engine_.arrived());
  if (arrived_.size() > kRateOver + 1) arrived_.pop_front();
  LoadReport load;
  load.requests_per_second = static_cast<double>(arrived_.back() - arrived_.front()) /
                             static_cast<double>(std::max<std::size_t>(arrived_.size() - 1, 1));
  load.queue_length = static_cast<double>(engine_.scheduler().status().waiting);
  load.kv_bytes_used = static_cast<std::size_t>(engine_.kv_bytes_used());
  load.kv_bytes_wanted =
      std::max(load.kv_bytes_used, static_cast<std::size_t>(engine_.kv_bytes_wanted()));
  const auto decision =
      policy_.observe(load, ProducerPolicy::TimePoint(std::chrono::nanoseconds(now / 1000)));
  if (decision.ok() && decision->action == ProducerAction::offer) {
    (void)market_.offer(static_cast<double>(decision->bytes), now);
    ++offers_;
  } else if (decision.ok() && decision->action == ProducerAction::reclaim) {
    (void)market_.reclaim(static_cast<double>(decision->bytes), now + kReclaimPatience, now);
    ++reclaims_;
  }
  resize();
  changed_(now);
  samples_.push_back({.at = now,
                      .lent_bytes = market_.lent_bytes(),
                      .queue = load.queue_length,
                      .requests_per_second = load.requests_per_second});
}

// What is lent, revoked or being scrubbed is not the engine's.
void Lender::resize() {
  const auto lent = static_cast<std::uint32_t>(std::ceil(market_.lent_bytes() / block_bytes_));
  engine_.set_device_blocks(all_blocks_ - std::min(all_blocks_, lent));
}

}  // namespace aqua::sim
