// SPDX-License-Identifier: Apache-2.0
// A context larger than its device (the paper's FlexGen case): each token needs every layer's KV,
// which lies in the swap space and is streamed in, layer by layer.
//
// Two buffers: layer n + 1 is fetched while layer n computes, over the end of a token as well.
// Serial: each layer is fetched, then computed. The KV of the new token stays on the device until
// its layer's is full (a few KB a layer), the prompt's is out there at the start.
//
// Each layer is placed by itself, so that part of a context can lie with the peer and part on the
// host while slabs come and go.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tools/sim/engine/actor.hpp"
#include "tools/sim/engine/paging.hpp"
#include "tools/sim/engine/swap_space.hpp"

namespace aqua::sim {

struct StreamShape {
  std::uint32_t layers = 1;
  double layer_bytes = 0;
  Picos layer_compute = 0;
  bool overlapped = true;
  Picos start = 0;
  Picos stop = kNever;          // no token begins after it
  std::uint64_t tokens = 1000;  // at most
};

class Streamer final : public Actor {
 public:
  Streamer(const StreamShape& shape, const Paging& paging, SwapSpace& swap, Network& network)
      : shape_(shape), paging_(paging), swap_(swap), network_(network) {}

  [[nodiscard]] Picos next() const override;
  void act(Picos now, Picos horizon) override;
  void flow_ended(FlowId flow, Picos now) override;
  [[nodiscard]] bool done() const override { return done_; }

  // The market changed: layers move off revoked slabs, and back up.
  void rebalance(Picos now);
  // When each token was there.
  [[nodiscard]] const std::vector<Picos>& tokens() const noexcept { return tokens_; }
  [[nodiscard]] double bytes_moved() const noexcept { return bytes_moved_; }

 private:
  void proceed(Picos now);

  StreamShape shape_;
  Paging paging_;
  SwapSpace& swap_;
  Network& network_;
  bool started_ = false;
  bool done_ = false;
  // Layers, counted over all tokens.
  std::uint64_t fetched_ = 0;
  std::uint64_t computed_ = 0;
  FlowId fetch_ = 0;  // under way, of layer `fetched_`
  Picos compute_end_ = kNever;
  std::map<FlowId, std::uint64_t> moves_;  // to layers
  std::vector<Picos> tokens_;
  double bytes_moved_ = 0;
};

// Seconds a token, once the pipeline is full: fetch and compute of each layer one after the other,
// or the longer of the two.
[[nodiscard]] double closed_form_token(const StreamShape& shape, double fetch_seconds);

}  // namespace aqua::sim
