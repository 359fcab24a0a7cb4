// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/lending/streamer.hpp"

#include <algorithm>
#include <cassert>

namespace aqua::sim {

Picos Streamer::next() const {
  if (done_) return kNever;
  return started_ ? compute_end_ : shape_.start;
}

void Streamer::act(Picos now, Picos /*horizon*/) {
  assert(shape_.layers > 0);
  if (!started_) {
    started_ = true;
    for (std::uint64_t layer = 0; layer < shape_.layers; ++layer) {
      (void)swap_.reserve(layer, shape_.layer_bytes, now);
    }
  }
  if (now == compute_end_) {
    compute_end_ = kNever;
    ++computed_;
    if (computed_ % shape_.layers == 0) tokens_.push_back(now);
    done_ =
        computed_ % shape_.layers == 0 && (now >= shape_.stop || tokens_.size() >= shape_.tokens);
  }
  if (!done_) proceed(now);
}

void Streamer::flow_ended(FlowId flow, Picos now) {
  if (const auto move = moves_.find(flow); move != moves_.end()) {
    swap_.moved(move->second, now);
    moves_.erase(move);
    rebalance(now);
    return;
  }
  if (flow != fetch_ || done_) return;
  fetch_ = 0;
  ++fetched_;
  proceed(now);
}

void Streamer::proceed(Picos now) {
  if (compute_end_ == kNever && fetched_ > computed_) compute_end_ = now + shape_.layer_compute;
  // With two buffers one is fetched into while the other is computed from; a single one must have
  // been computed from first.
  const std::uint64_t ahead = shape_.overlapped ? 2 : 1;
  if (fetch_ != 0 || fetched_ - computed_ >= ahead) return;
  const Tier tier = swap_.tier_of(fetched_ % shape_.layers);
  fetch_ = network_.start(paging_.transfer(tier, false, shape_.layer_bytes), now, this);
}

void Streamer::rebalance(Picos now) {
  if (!started_ || done_) return;
  const auto busy = [&](std::uint64_t layer) {
    return fetch_ != 0 && layer == fetched_ % shape_.layers;
  };
  const auto move = [&](std::uint64_t layer, Tier to) {
    swap_.moving(layer, to, now);
    moves_[network_.start(paging_.move(to, shape_.layer_bytes), now, this)] = layer;
    bytes_moved_ += shape_.layer_bytes;
  };
  for (const std::uint64_t layer : swap_.to_evacuate(busy)) move(layer, Tier::host);
  for (const std::uint64_t layer : swap_.to_promote(busy)) move(layer, Tier::peer);
}

double closed_form_token(const StreamShape& shape, double fetch_seconds) {
  const double compute = seconds(shape.layer_compute);
  const double layer =
      shape.overlapped ? std::max(compute, fetch_seconds) : compute + fetch_seconds;
  return shape.layers * layer;
}

}  // namespace aqua::sim
